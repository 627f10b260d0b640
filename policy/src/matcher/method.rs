//! Methods.

/// Which methods a rule is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum MethodMatcher {
    /// `*`.
    Any,
    /// One method, in any case; `GET` stands for `HEAD` too, in allow and in deny rules.
    One(Box<str>),
}

impl MethodMatcher {
    pub(crate) fn parse(text: &str) -> Self {
        match text {
            "*" => MethodMatcher::Any,
            method => MethodMatcher::One(method.to_ascii_uppercase().into_boxed_str()),
        }
    }

    pub(crate) fn matches(&self, method: &str) -> bool {
        match self {
            MethodMatcher::Any => true,
            MethodMatcher::One(own) => own.eq_ignore_ascii_case(method) || (**own == *"GET" && method.eq_ignore_ascii_case("HEAD")),
        }
    }

    /// Whether it is about every method that the other is about.
    pub(crate) fn covers(&self, other: &Self) -> bool {
        match (self, other) {
            (MethodMatcher::Any, _) => true,
            (MethodMatcher::One(_), MethodMatcher::Any) => false,
            // A `GET` that is looked for stands for `HEAD` too, and so does the one it is held against.
            (own, MethodMatcher::One(method)) => own.matches(method),
        }
    }
}

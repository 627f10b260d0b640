//! Rules of MCP methods and tools.

use super::json_rpc::{has_wildcard, refuse_access};
use super::lists::{self, Base, Fields, required};
use crate::decide::RuleLabel;
use crate::diagnostic::{Code, Diagnostics};
use crate::document::{At, EndpointSection, GlobValue, MatcherSection, McpSection};
use crate::matcher::SegmentedGlob;
use crate::operation::ToolNames;
use crate::policy::{McpRule, McpRules, OtherMethods};

const FIELDS: Fields = Fields {
    protocol: "mcp",
    own: &["method", "tool", "params"],
    hint: "match calls by method and tool; `path` on the endpoint says where the server is",
};

const TOOLS_CALL: &str = "tools/call";

/// What a rule may leave out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Methods {
    /// Each rule has to name its method.
    Named,
    /// All pass (`allow_all_known_mcp_methods`), and rules are about tools.
    All,
}

/// What the rules of an endpoint are read by.
#[derive(Debug, Clone, Copy)]
struct Reader {
    methods: Methods,
    tool_names: ToolNames,
}

pub(super) fn tool_names(options: Option<&McpSection>) -> ToolNames {
    match options.and_then(|options| options.strict_tool_names.as_ref()) {
        Some(strict) if !strict.value => ToolNames::Any,
        _ => ToolNames::Strict,
    }
}

pub(super) fn compile(section: &mut EndpointSection, found: &mut Diagnostics) -> Option<McpRules> {
    if section.host.as_ref().is_none_or(|host| host.value.is_empty()) {
        let hint = "name the server; the protocol alone covers no host";
        found.error(Code::MissingKey, section.at, "an endpoint with `protocol: mcp` needs `host`", hint);
    }
    let options = section.body.mcp.as_ref();
    let all = options.and_then(|options| options.allow_all_known_mcp_methods.as_ref());
    let reader = Reader {
        methods: if all.is_some_and(|all| all.value) {
            Methods::All
        } else {
            Methods::Named
        },
        tool_names: tool_names(options),
    };
    let allow = lists::base(section, found).and_then(|base| match base {
        Base::Access(access) => refuse_access(&access, "mcp", found),
        Base::Rules(rules) => lists::allow_rules(rules, found, |matcher, label, found| reader.rule(matcher, label, found)),
        Base::Nothing if reader.methods == Methods::All => Some(Vec::new()),
        Base::Nothing => {
            let hint = "list methods and tools under `rules`, or write `mcp: { allow_all_known_mcp_methods: true }`";
            lists::missing_base(section, "mcp", "`rules`", hint, found)
        }
    });
    let deny = lists::deny_rules(section.deny_rules.take(), found, |matcher, label, found| {
        let at = matcher.at;
        let rule = reader.rule(matcher, label, found)?;
        if matches!(rule, Ruled::Nothing(_)) {
            found.error(
                Code::IncompleteMatcher,
                at,
                "a deny rule needs `method` or `tool`",
                "write what it denies",
            );
            return None;
        }
        Some(rule)
    });
    let (allow, deny) = (allow?, deny?);
    let by_tool = allow.iter().any(|rule| matches!(rule, Ruled::By(rule) if !rule.tools.is_empty()));
    if by_tool {
        refuse_broad(allow.iter().chain(&deny), reader.methods, found);
    }
    Some(McpRules {
        allow: allow.into_iter().filter_map(Ruled::rule).collect(),
        deny: deny.into_iter().filter_map(Ruled::rule).collect(),
        other: match (reader.methods, by_tool) {
            (Methods::Named, _) => OtherMethods::NeedRule,
            (Methods::All, false) => OtherMethods::Pass,
            (Methods::All, true) => OtherMethods::PassWithoutTools,
        },
    })
}

/// One entry of a list.
enum Ruled {
    By(McpRule),
    /// `{}`: it adds nothing to methods that pass anyway.
    Nothing(RuleLabel),
}

impl Ruled {
    fn rule(self) -> Option<McpRule> {
        match self {
            Ruled::By(rule) => Some(rule),
            Ruled::Nothing(_) => None,
        }
    }

    /// Whether it is about every tool call.
    fn is_broad(&self, methods: Methods) -> bool {
        match self {
            Ruled::By(rule) => rule.tools.is_empty() && rule.method.matches(TOOLS_CALL.as_bytes()),
            Ruled::Nothing(_) => methods == Methods::All,
        }
    }

    fn label(&self) -> RuleLabel {
        match self {
            Ruled::By(rule) => rule.label,
            Ruled::Nothing(label) => *label,
        }
    }
}

fn refuse_broad<'r>(rules: impl Iterator<Item = &'r Ruled>, methods: Methods, found: &mut Diagnostics) {
    for rule in rules.filter(|rule| rule.is_broad(methods)) {
        found.error(
            Code::BroadToolRule,
            rule.label().at,
            "the rule is about every tool call, beside rules that allow single tools",
            "name its tools, or remove the rules with tools",
        );
    }
}

impl Reader {
    fn rule(self, matcher: MatcherSection, label: RuleLabel, found: &mut Diagnostics) -> Option<Ruled> {
        FIELDS.check(&matcher, found);
        let at = matcher.at;
        let method = matcher.method.filter(|method| !method.value.is_empty());
        let tools = match tool(matcher.tool, matcher.params, found) {
            Ok(None) => Vec::new(),
            Ok(Some(value)) => self.tools(value, found)?,
            Err(Reported) => return None,
        };
        let method = match (method, self.methods) {
            (None, Methods::All) if tools.is_empty() => return Some(Ruled::Nothing(label)),
            (None, Methods::All) => At {
                value: TOOLS_CALL.to_owned(),
                at,
            },
            (method, _) => {
                let hint = "write the method, or `mcp: { allow_all_known_mcp_methods: true }` on the endpoint".to_owned();
                required(method, "method", at, hint, found)?
            }
        };
        if has_wildcard(&method.value) && !method.value.starts_with("tools/") {
            let message = format!("`{}`: only methods below `tools/` are matched by globs", method.value);
            let hint = "list the methods, or write `mcp: { allow_all_known_mcp_methods: true }` on the endpoint";
            found.error(Code::MethodGlob, method.at, message, hint);
            return None;
        }
        if !tools.is_empty() && method.value != TOOLS_CALL {
            let message = format!("`{}` has no tools", method.value);
            found.error(Code::InvalidTool, method.at, message, "write `method: tools/call`");
            return None;
        }
        Some(Ruled::By(McpRule {
            label,
            method: lists::value_glob(&method, "method", found)?,
            tools: tools.into_boxed_slice(),
        }))
    }

    fn tools(self, value: GlobValue, found: &mut Diagnostics) -> Option<Vec<SegmentedGlob>> {
        let globs = lists::globs(value, "tool", Code::InvalidTool, found)?;
        if let Some(wild) = globs
            .iter()
            .find(|glob| self.tool_names == ToolNames::Any && has_wildcard(&glob.value))
        {
            let message = format!("`{}`: with `strict_tool_names: false`, tools are matched as they stand", wild.value);
            let hint = "name the tools, or leave `strict_tool_names` out";
            found.error(Code::InvalidTool, wild.at, message, hint);
            return None;
        }
        globs.iter().map(|glob| lists::value_glob(glob, "tool", found)).collect()
    }
}

/// The error has been reported.
struct Reported;

/// `tool`, or `params: { name: … }`, which is the same.
fn tool(
    tool: Option<At<GlobValue>>,
    params: Option<crate::document::ParamsSection>,
    found: &mut Diagnostics,
) -> Result<Option<GlobValue>, Reported> {
    let Some(params) = params else {
        return Ok(tool.map(|tool| tool.value));
    };
    if let Some(other) = params.others.first() {
        let message = format!("`{}`: arguments of tools are not matched", other.value);
        found.error(Code::InvalidTool, other.at, message, "`params` has only `name`, the tool");
        return Err(Reported);
    }
    match (tool, params.name) {
        (Some(_), Some(name)) => {
            found.error(Code::InvalidTool, name.at, "`tool` and `params.name` together", "write one of them");
            Err(Reported)
        }
        (tool, name) => Ok(tool.or(name).map(|value| value.value)),
    }
}

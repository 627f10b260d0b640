//! A verdict that somebody else may object to: GO only where the backend says GO and nobody objects.
//!
//! Both are asked at once. An objector's type has no GO, so that no configuration can let one open the gate by itself.

use async_trait::async_trait;
use bytes::Bytes;
use std::sync::Arc;

use super::report::Report;
use super::{Answer, Backend, BackendName, Failure, Question, Verdict};

/// What an objector says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opinion {
    /// Nothing is to be said against it.
    NoObjection,
    /// It should wait for somebody.
    Hold,
}

/// Somebody who can only object. Dropping the future must abandon the question.
#[async_trait]
pub trait Objector: Send + Sync {
    /// Which one it is.
    fn name(&self) -> BackendName;

    /// What it would be told; see [`Backend::told`].
    fn told(&self, question: &Question) -> Option<Bytes>;

    /// Asks once. No opinion is not "no objection".
    async fn object(&self, question: &Question) -> Result<Opinion, Failure>;
}

/// See the module.
pub struct Unanimous {
    /// Who says GO, if anybody does.
    pub backend: Arc<dyn Backend>,
    /// Who has to have nothing against it.
    pub objector: Arc<dyn Objector>,
}

#[async_trait]
impl Backend for Unanimous {
    fn name(&self) -> BackendName {
        self.backend.name()
    }

    fn told(&self, question: &Question) -> Option<Bytes> {
        self.backend.told(question).or_else(|| self.objector.told(question))
    }

    async fn ask(&self, question: &Question) -> Result<Answer, Failure> {
        self.consult(question).await.1
    }

    async fn report(&self, report: &Report) -> Result<(), Failure> {
        self.backend.report(report).await
    }

    async fn consult(&self, question: &Question) -> (BackendName, Result<Answer, Failure>) {
        let (answer, opinion) = tokio::join!(self.backend.ask(question), self.objector.object(question));
        let (backend, objector) = (self.backend.name(), self.objector.name());
        match (answer, opinion) {
            // The most decided refusal is the one that is told.
            (Ok(answer), _) if answer.verdict == Verdict::Stop => (backend, Ok(answer)),
            (Err(failure), _) => (backend, Err(failure)),
            (Ok(answer), _) if answer.verdict == Verdict::Hold => (backend, Ok(answer)),
            (Ok(_), Err(failure)) => (objector, Err(failure)),
            (Ok(_), Ok(Opinion::Hold)) => (objector, Ok(Answer::bare(Verdict::Hold))),
            (Ok(answer), Ok(Opinion::NoObjection)) => (backend, Ok(answer)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::*;

    struct Says(Result<Verdict, Failure>);

    #[async_trait]
    impl Backend for Says {
        fn name(&self) -> BackendName {
            BackendName::Blackwall
        }

        async fn ask(&self, _: &Question) -> Result<Answer, Failure> {
            self.0.map(Answer::bare)
        }
    }

    struct Thinks(Result<Opinion, Failure>);

    #[async_trait]
    impl Objector for Thinks {
        fn name(&self) -> BackendName {
            BackendName::ActionSafety
        }

        fn told(&self, _: &Question) -> Option<Bytes> {
            None
        }

        async fn object(&self, _: &Question) -> Result<Opinion, Failure> {
            self.0
        }
    }

    #[tokio::test]
    async fn only_a_go_that_nobody_objects_to_is_one() {
        use BackendName::{ActionSafety, Blackwall};
        use Opinion::{Hold, NoObjection};
        let (dead, slow) = (Failure::NotJson, Failure::TimedOut);
        for (says, thinks, expected) in [
            (Ok(Verdict::Go), Ok(NoObjection), (Blackwall, Ok(Verdict::Go))),
            (Ok(Verdict::Go), Ok(Hold), (ActionSafety, Ok(Verdict::Hold))),
            (Ok(Verdict::Go), Err(slow), (ActionSafety, Err(slow))),
            (Ok(Verdict::Hold), Ok(NoObjection), (Blackwall, Ok(Verdict::Hold))),
            (Ok(Verdict::Hold), Err(slow), (Blackwall, Ok(Verdict::Hold))),
            (Ok(Verdict::Stop), Ok(NoObjection), (Blackwall, Ok(Verdict::Stop))),
            (Ok(Verdict::Stop), Err(slow), (Blackwall, Ok(Verdict::Stop))),
            (Err(dead), Ok(NoObjection), (Blackwall, Err(dead))),
            (Err(dead), Ok(Hold), (Blackwall, Err(dead))),
        ] {
            let both = Unanimous {
                backend: Arc::new(Says(says)),
                objector: Arc::new(Thinks(thinks)),
            };
            let (by, outcome) = both.consult(&sample::question()).await;
            assert_eq!((by, outcome.map(|answer| answer.verdict)), expected, "{says:?} {thinks:?}");
        }
    }
}

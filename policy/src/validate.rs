//! stub
use crate::diagnostic::Diagnostics;
use crate::document::Document;
use crate::load::MiddlewareSchema;
use crate::policy::Policy;
pub(crate) fn validate(_document: Document, _schema: &dyn MiddlewareSchema, _diagnostics: &mut Diagnostics) -> Option<Policy> {
    Some(Policy::deny_all())
}

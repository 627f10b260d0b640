//! For build servers: JUnit's XML, a test suite a file.

use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use super::{Tested, Tried};
use crate::cli::CliError;

pub(super) fn document(all: &[Tested<'_>]) -> Result<String, CliError> {
    let mut report = Report::new("tollgate test");
    for tested in all {
        let file = tested.file();
        let mut suite = TestSuite::new(file.as_str());
        suite.add_test_cases(tested.results.iter().map(|tried| case(&file, tried)));
        report.add_test_suite(suite);
    }
    let document = report.to_string();
    document.map_err(|error| CliError::Runtime(std::io::Error::other(error)))
}

fn case(
    file: &str,
    Tried {
        case,
        mismatches,
        explained,
    }: &Tried<'_>,
) -> TestCase {
    let mut status = TestCaseStatus::success();
    if !mismatches.is_empty() {
        let differences: Vec<String> = mismatches.iter().map(ToString::to_string).collect();
        status = TestCaseStatus::non_success(NonSuccessKind::Failure);
        status
            .set_message(differences.join("; "))
            .set_type("unexpected-decision")
            .set_description(explained.text());
    }
    let mut test = TestCase::new(case.name.as_str(), status);
    test.set_classname(file);
    test.extra.insert("file".into(), file.into());
    if let Some(line) = case.line {
        test.extra.insert("line".into(), line.to_string().into());
    }
    test
}

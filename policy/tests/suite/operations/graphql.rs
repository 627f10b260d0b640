//! D20, D21 and D22: GraphQL operations, their fields, and persisted queries.

use super::{ask, check, graphql, json};

#[test]
fn d20_every_operation_and_every_root_field_must_be_allowed() {
    let policy = graphql("rules:\n  - allow: { operation_type: query, fields: [viewer, repository, 'public*'] }\n");
    let ok = json("query Q { viewer { login } repository(name: \"x\") { id } }");
    let bad = json("{ organization }");
    for (body, expected) in [
        (ok.clone(), "allow"),
        (json("{ me: viewer publicKeys }"), "allow"),
        (bad.clone(), "deny:operation_not_allowed"),
        (json("{ viewer organization }"), "deny:operation_not_allowed"),
        // An alias does not rename what is read.
        (json("{ viewer: organization }"), "deny:operation_not_allowed"),
        (json("mutation { viewer }"), "deny:operation_not_allowed"),
        (json("subscription { viewer }"), "deny:operation_not_allowed"),
        (json("{ __schema { types { name } } }"), "deny:operation_not_allowed"),
        // Fragments and inline fragments are looked through, whatever their order, also in a circle.
        (json("{ ...F } fragment F on Query { viewer }"), "allow"),
        (
            json("fragment F on Query { organization } { viewer ...F }"),
            "deny:operation_not_allowed",
        ),
        (
            json("{ ... on Query { ... @include(if: true) { organization } } }"),
            "deny:operation_not_allowed",
        ),
        (
            json("{ ...A } fragment A on Query { ...B viewer } fragment B on Query { ...A organization }"),
            "deny:operation_not_allowed",
        ),
        (
            json("{ ...A } fragment A on Query { ...B } fragment B on Query { ...A viewer }"),
            "allow",
        ),
        // Which operation of several is executed is the server's choice.
        (
            serde_json::json!({ "query": "query A { viewer } mutation B { drop }", "operationName": "A" }).to_string(),
            "deny:operation_not_allowed",
        ),
        (
            serde_json::json!({ "query": "query A { viewer } query B { repository }", "operationName": "B", "variables": null })
                .to_string(),
            "allow",
        ),
        // Batches.
        (format!("[{ok},{ok}]"), "allow"),
        (format!("[{ok},{bad}]"), "deny:operation_not_allowed"),
        // What has no single meaning.
        (json("query {"), "deny:malformed_request"),
        (json("{ viewer } { repository }"), "deny:malformed_request"),
        (json("query A { viewer } query B { viewer }"), "deny:malformed_request"),
        (
            json("{ ...F } fragment F on Query { viewer } fragment F on Query { organization }"),
            "deny:malformed_request",
        ),
        (json("{ ...F }"), "deny:malformed_request"),
        (json("type Query { viewer: String }"), "deny:malformed_request"),
        (json("{ viewer } type X { a: Int }"), "deny:malformed_request"),
        (json("fragment F on Query { viewer }"), "deny:malformed_request"),
        (json(""), "deny:malformed_request"),
        (format!("{ok}{bad}"), "deny:malformed_request"),
        (
            r#"{"query":"{viewer}","query":"mutation{drop}"}"#.to_owned(),
            "deny:malformed_request",
        ),
        (
            r#"{"query":"{viewer}","\u0071uery":"mutation{drop}"}"#.to_owned(),
            "deny:malformed_request",
        ),
        (
            r#"{"query":"{viewer}","Query":"mutation{drop}"}"#.to_owned(),
            "deny:malformed_request",
        ),
        (
            r#"{"query":"{viewer}","QUERY":"mutation{drop}"}"#.to_owned(),
            "deny:malformed_request",
        ),
        (r#"{"query":["{viewer}"]}"#.to_owned(), "deny:malformed_request"),
        (r#"{"query":"{viewer}","operationName":7}"#.to_owned(), "deny:malformed_request"),
        (
            r#"{"query":"{viewer}","operationName":"Other"}"#.to_owned(),
            "deny:malformed_request",
        ),
        (r#"{"query":"{viewer}","extensions":[]}"#.to_owned(), "deny:malformed_request"),
        ("[]".to_owned(), "deny:malformed_request"),
        ("[[]]".to_owned(), "deny:malformed_request"),
        ("\"{viewer}\"".to_owned(), "deny:malformed_request"),
        ("{ viewer }".to_owned(), "deny:malformed_request"),
        (String::new(), "deny:malformed_request"),
        ("\u{feff}{}".to_owned(), "deny:malformed_request"),
    ] {
        assert_eq!(ask(&policy, "POST /graphql", "application/json", &body), expected, "{body}");
    }
}

#[test]
fn a_comment_ends_where_every_reader_ends_it() {
    let policy = graphql("rules:\n  - allow: { operation_type: query, fields: [viewer] }\n");
    for (text, expected) in [
        ("{ viewer # organization\n }", "allow"),
        ("{ viewer # \r organization }", "deny:operation_not_allowed"),
        ("{ viewer # \r\n organization }", "deny:operation_not_allowed"),
        ("{ viewer # \u{2028} organization\n }", "deny:malformed_request"),
        ("{ viewer(a: \"\"\" \\\"\"\" } organization { \"\"\") }", "allow"),
        (
            "{ viewer(a: \"\"\" \"\"\") organization(b: \"\"\" \"\"\") }",
            "deny:operation_not_allowed",
        ),
        ("{ viewer(a: \"\\\"\") organization }", "deny:operation_not_allowed"),
        ("{ viewer(a: \"\n\") }", "deny:malformed_request"),
        ("\u{feff}{ viewer }", "allow"),
        ("{ view\u{0000}er }", "deny:malformed_request"),
    ] {
        assert_eq!(ask(&policy, "POST /graphql", "", &json(text)), expected, "{text:?}");
    }
}

#[test]
fn d21_a_denied_mutation_stays_denied_whatever_is_allowed() {
    let policy = graphql(
        "access: full\ndeny_rules:\n  - { operation_type: mutation, fields: [deleteRepository] }\n  - { operation_type: '*', operation_name: 'Admin*' }\n",
    );
    check(
        &policy,
        &[
            ("POST /graphql", &json("mutation { createIssue }"), "allow"),
            ("POST /graphql", &json("mutation { deleteRepository }"), "deny:denied_by_rule"),
            // One denied field is enough, behind a fragment too.
            (
                "POST /graphql",
                &json("mutation { createIssue ...F } fragment F on Mutation { deleteRepository }"),
                "deny:denied_by_rule",
            ),
            ("POST /graphql", &json("mutation { x: deleteRepository }"), "deny:denied_by_rule"),
            ("POST /graphql", &json("{ deleteRepository }"), "allow"),
            ("POST /graphql", &json("query AdminUsers { users }"), "deny:denied_by_rule"),
            (
                "POST /graphql",
                &format!("[{},{}]", json("{ a }"), json("mutation { deleteRepository }")),
                "deny:denied_by_rule",
            ),
        ],
    );
    let read_only = graphql("access: read-only\n");
    let read_write = graphql("access: read-write\n");
    for (text, ro, rw) in [
        ("{ a }", "allow", "allow"),
        ("mutation { a }", "deny:operation_not_allowed", "allow"),
        ("subscription { a }", "deny:operation_not_allowed", "deny:operation_not_allowed"),
    ] {
        assert_eq!(ask(&read_only, "POST /", "", &json(text)), ro, "{text}");
        assert_eq!(ask(&read_write, "POST /", "", &json(text)), rw, "{text}");
    }
}

#[test]
fn d22_a_persisted_query_is_what_the_policy_says_it_is() {
    let hash = "ab".repeat(32);
    let own = "a82ef5ee5a1c9fe4b5a5e1b1c5bd3a8b";
    let by_hash = |hash: &str| serde_json::json!({ "extensions": { "persistedQuery": { "version": 1, "sha256Hash": hash } } }).to_string();
    let deny = graphql("access: full\n");
    assert_eq!(ask(&deny, "POST /graphql", "", &by_hash(&hash)), "deny:operation_not_allowed");
    let registered = graphql(&format!(
        "persisted_queries: allow_registered\ngraphql_persisted_queries:\n  {hash}: {{ operation_type: query, fields: [viewer] }}\n  saved: {{ operation_type: mutation, operation_name: Drop, fields: [drop] }}\nrules:\n  - allow: {{ operation_type: query, fields: [viewer] }}\n"
    ));
    check(
        &registered,
        &[
            ("POST /graphql", &by_hash(&hash), "allow"),
            ("POST /graphql", &by_hash("00"), "deny:operation_not_allowed"),
            ("POST /graphql", r#"{"id":"saved"}"#, "deny:operation_not_allowed"),
            ("POST /graphql", r#"{"documentId":"unknown"}"#, "deny:operation_not_allowed"),
            ("POST /graphql", r#"{"extensions":{"persistedQuery":{}}}"#, "deny:malformed_request"),
            (
                "POST /graphql",
                r#"{"extensions":{"persistedQuery":{"sha256Hash":1}}}"#,
                "deny:malformed_request",
            ),
            (
                "POST /graphql",
                r#"{"extensions":{"PersistedQuery":{"sha256Hash":"x"}}}"#,
                "deny:malformed_request",
            ),
            ("POST /graphql", r#"{"id":7}"#, "deny:malformed_request"),
            // A harmless text beside the name of something else: the server may prefer the name.
            (
                "POST /graphql",
                r#"{"query":"{viewer}","id":"saved"}"#,
                "deny:operation_not_allowed",
            ),
            (
                "POST /graphql",
                &format!(r#"{{"query":"{{viewer}}","extensions":{{"persistedQuery":{{"sha256Hash":"{own}"}}}}}}"#),
                "deny:operation_not_allowed",
            ),
            // Registering a text under its own hash is asking for the text.
            (
                "POST /graphql",
                r#"{"query":"{viewer}","extensions":{"persistedQuery":{"version":1,"sha256Hash":"d56d6d58bf01fb04e11b0b1ff5ae8a1a4c7c5ffd22ef0c34ab77fb0e7ba4a4c5"}}}"#,
                "deny:operation_not_allowed",
            ),
            (
                "GET /graphql?extensions=%7B%22persistedQuery%22:%7B%22sha256Hash%22:%22saved%22%7D%7D",
                "",
                "deny:operation_not_allowed",
            ),
            ("GET /graphql?id=saved", "", "deny:operation_not_allowed"),
            ("GET /graphql?extensions=nonsense", "", "deny:malformed_request"),
        ],
    );
    let digest = "6c1358d167943758b4d42060c70eb270bc2df178458db8d53fca49aa9079a0fc";
    let body = format!(r#"{{"query":"{{viewer}}","extensions":{{"persistedQuery":{{"version":1,"sha256Hash":"{digest}"}}}}}}"#);
    assert_eq!(ask(&registered, "POST /graphql", "", &body), "allow");
}

#[test]
fn a_query_hidden_in_the_target_or_in_a_form_is_judged_too() {
    let policy = graphql("rules:\n  - allow: { operation_type: query, fields: [viewer] }\n");
    let ok = json("{ viewer }");
    for (line, media, body, expected) in [
        ("GET /graphql?query=%7Bviewer%7D", "", "", "allow"),
        (
            "GET /graphql?query=query+A%7Bviewer%7D&operationName=A&variables=%7B%7D",
            "",
            "",
            "allow",
        ),
        ("GET /graphql?query=%7Borganization%7D", "", "", "deny:operation_not_allowed"),
        ("GET /graphql?query=mutation%7Bviewer%7D", "", "", "deny:operation_not_allowed"),
        (
            "GET /graphql?query=%7Bviewer%7D&query=%7Borganization%7D",
            "",
            "",
            "deny:malformed_request",
        ),
        (
            "GET /graphql?query=%7Bviewer%7D&query%5B%5D=%7Borganization%7D",
            "",
            "",
            "deny:malformed_request",
        ),
        (
            "GET /graphql?query=%7Bviewer%7D&+query=%7Borganization%7D",
            "",
            "",
            "deny:malformed_request",
        ),
        ("GET /graphql?x=1;query=%7Borganization%7D", "", "", "deny:malformed_request"),
        ("GET /graphql?query=%7Bviewer%7D", "", ok.as_str(), "deny:malformed_request"),
        ("GET /graphql", "", "", "deny:malformed_request"),
        ("HEAD /graphql?query=%7Bviewer%7D", "", "", "deny:method_not_allowed"),
        ("PUT /graphql", "", ok.as_str(), "deny:method_not_allowed"),
        ("POST /graphql?operationName=A", "", ok.as_str(), "allow"),
        (
            "POST /graphql?query=mutation%7Bdrop%7D",
            "",
            ok.as_str(),
            "deny:operation_not_allowed",
        ),
        ("POST /graphql?id=1", "", ok.as_str(), "deny:operation_not_allowed"),
        ("POST /graphql", "application/graphql", "{ viewer }", "allow"),
        (
            "POST /graphql",
            "application/graphql; charset=utf-8",
            "{ organization }",
            "deny:operation_not_allowed",
        ),
        ("POST /graphql", "application/graphql", ok.as_str(), "deny:malformed_request"),
        ("POST /graphql", "application/x-www-form-urlencoded", ok.as_str(), "allow"),
        (
            "POST /graphql",
            "application/x-www-form-urlencoded",
            r#"{"query":"{viewer}","variables":{"x":"&query=mutation{drop}&"}}"#,
            "deny:uninspectable_traffic",
        ),
        (
            "POST /graphql",
            "application/json; charset=utf-7",
            ok.as_str(),
            "deny:uninspectable_traffic",
        ),
        (
            "POST /graphql",
            "multipart/form-data; boundary=x",
            ok.as_str(),
            "deny:uninspectable_traffic",
        ),
    ] {
        assert_eq!(ask(&policy, line, media, body), expected, "{line} {media} {body}");
    }
}

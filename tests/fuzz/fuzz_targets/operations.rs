//! Bodies by GraphQL, JSON-RPC and MCP: read into operations or refused; what is read has names, and the same bytes always say the same.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tollgate_policy::{BodyProtocol, BodyReading, Media, Sent, ToolNames};

fuzz_target!(|input: (u8, &str, &[u8])| {
    let (choice, query, body) = input;
    let reading = BodyReading {
        protocol: [BodyProtocol::Graphql, BodyProtocol::JsonRpc, BodyProtocol::Mcp][usize::from(choice) % 3],
        limit: 65_536,
        tool_names: if choice & 128 == 0 { ToolNames::Strict } else { ToolNames::Any },
    };
    let sent = Sent {
        method: ["POST", "GET", "DELETE"][usize::from(choice / 3) % 3],
        query: Some(query),
        media: [Media::Json, Media::Graphql, Media::Form][usize::from(choice / 9) % 3],
        body,
    };
    let read = reading.read(&sent);
    assert_eq!(read, reading.read(&sent));
    if let Ok(operations) = read {
        assert!(!operations.is_empty());
        for operation in operations {
            assert_eq!(operation.protocol(), reading.protocol);
            let shown = operation.to_string();
            assert!(!shown.is_empty() && !shown.contains(char::is_control), "{shown:?}");
        }
    }
});

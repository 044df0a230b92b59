//! What the tests of the demo servers share, and the tests of their command line.

use clap::{FromArgMatches as _, Subcommand as _};
use rmcp::model::{CallToolRequestParams, CallToolResult};
use rmcp::service::RunningService;
use rmcp::{ClientHandler, RoleClient};
use serde_json::Value;

use super::*;

/// A client of a server in this process.
pub(super) type Connected<H> = RunningService<RoleClient, H>;

pub(super) async fn connected(toolset: impl Toolset) -> Connected<()> {
    connected_as(toolset, ()).await
}

pub(super) async fn connected_as<H: ClientHandler>(
    toolset: impl Toolset,
    client: H,
) -> Connected<H> {
    let (ours, theirs) = tokio::io::duplex(64 * 1024);
    tokio::spawn(async move {
        let running = Server(Arc::new(toolset)).serve(theirs).await.unwrap();
        running.waiting().await
    });
    client.serve(ours).await.unwrap()
}

pub(super) async fn result_of<H: ClientHandler>(
    client: &Connected<H>,
    tool: &str,
    arguments: Value,
) -> CallToolResult {
    let mut params = CallToolRequestParams::new(tool.to_owned());
    params.arguments = arguments.as_object().cloned();
    client.call_tool(params).await.unwrap()
}

fn first_text(result: &CallToolResult) -> String {
    result.content[0].as_text().unwrap().text.clone()
}

/// The text of a call that succeeds.
pub(super) async fn called<H: ClientHandler>(
    client: &Connected<H>,
    tool: &str,
    arguments: Value,
) -> String {
    let result = result_of(client, tool, arguments).await;
    let text = first_text(&result);
    assert_eq!(result.is_error, Some(false), "{tool}: {text}");
    text
}

/// The message of a call that fails.
pub(super) async fn failed<H: ClientHandler>(
    client: &Connected<H>,
    tool: &str,
    arguments: Value,
) -> String {
    let result = result_of(client, tool, arguments).await;
    let text = first_text(&result);
    assert_eq!(result.is_error, Some(true), "{tool}: {text}");
    text
}

/// The error of a call that is refused by the protocol.
pub(super) async fn rmcp_error(client: &Connected<()>, tool: &str) -> String {
    let params = CallToolRequestParams::new(tool.to_owned());
    client.call_tool(params).await.unwrap_err().to_string()
}

fn parsed(words: &[&str]) -> Result<Kind, clap::Error> {
    let command = Kind::augment_subcommands(clap::Command::new("demo-server"));
    let words = ["demo-server"].iter().chain(words);
    Kind::from_arg_matches(&command.try_get_matches_from(words)?)
}

#[test]
fn the_servers_are_chosen_by_name() {
    assert!(matches!(parsed(&["files"]), Ok(Kind::Files)));
    let clock = parsed(&["clock", "--die-after", "1m15s", "--since", "1700000000"]).unwrap();
    let Kind::Clock { die_after, since } = clock else {
        panic!("{clock:?}");
    };
    assert_eq!(die_after, Some(Duration::from_secs(75)));
    assert_eq!(since, Some(1_700_000_000));
    assert!(parsed(&["clock", "--die-after", "10ms"]).is_err());
    assert!(parsed(&["clock", "--since", "1"]).is_err());
    assert!(matches!(parsed(&["web"]), Ok(Kind::Web { .. })));
}

#[tokio::test]
async fn the_web_server_answers_over_http_and_ends_with_its_lifeline() {
    let listener = web::listen("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let (lifeline, theirs) = tokio::io::duplex(64);
    let serving = tokio::spawn(on_http(address, theirs));
    // The port was free a moment ago; connecting waits until it is listened on.
    while tokio::net::TcpStream::connect(address).await.is_err() {
        tokio::task::yield_now().await;
    }
    drop(lifeline);
    serving.await.unwrap().unwrap();
    assert!(tokio::net::TcpStream::connect(address).await.is_err());
}

#[tokio::test]
async fn a_clock_in_an_outage_does_not_start() {
    let now: Timestamp = "2026-11-30T12:00:00Z".parse().unwrap();
    let began = now.as_second() - 151;
    let code = mortal_clock(Some(began), Duration::from_secs(75), now).await;
    assert_eq!(format!("{code:?}"), format!("{:?}", ExitCode::from(3)));
}

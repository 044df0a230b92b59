//! A server over streamable HTTP that is started, killed and started again.

use std::process::{Child, Command, Stdio};

use serde_json::json;
use toolcrib::tool::ErrorKind;

use super::host::{Host, installed};

/// The server's process; killed when this is dropped.
struct Everything(Child);

impl Everything {
    fn on(port: u16) -> Self {
        let command = installed("node_modules/.bin/mcp-server-everything");
        let child = Command::new(command)
            .arg("streamableHttp")
            .env("PORT", port.to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Self(child)
    }
}

impl Drop for Everything {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test]
#[ignore = "needs packages that .ci/run installs"]
async fn everything_over_http_is_lost_and_found_again() {
    let port = std::net::TcpListener::bind("127.0.0.1:0")
        .and_then(|listener| listener.local_addr())
        .unwrap()
        .port();
    let server = Everything::on(port);
    let url = format!("http://127.0.0.1:{port}/mcp");
    // Starts before the server listens: the first attempts may be refused.
    let host = Host::start(json!({"transport": "http", "url": url, "liveness": "500ms"})).await;
    assert_eq!(
        host.text("s__echo", json!({"message": "hi"})).await,
        "Echo: hi"
    );
    let sum = host.text("s__get-sum", json!({"a": 2, "b": 3})).await;
    assert!(sum.contains('5'), "{sum}");
    drop(server);
    host.until("lost", |server| !server.state.is_up()).await;
    let result = host.call("s__echo", json!({"message": "hi"})).await;
    assert_eq!(result.error_kind, Some(ErrorKind::NotAvailable));
    let _again = Everything::on(port);
    host.until("back", |server| {
        server.state.is_up() && server.reconnects > 0
    })
    .await;
    assert_eq!(
        host.text("s__echo", json!({"message": "again"})).await,
        "Echo: again"
    );
    host.stop().await;
}

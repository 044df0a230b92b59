//! Deployments that fail: rejected servers, and required ones that are not ready.

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use crate::place::Place;

/// A server that answers every request with 401, and its address.
async fn refusing() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut request = [0; 4096];
                let _ = stream.read(&mut request).await;
                let _ = stream
                    .write_all(
                        b"HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
                    )
                    .await;
            });
        }
    });
    format!("http://{address}/mcp")
}

#[tokio::test]
async fn a_rejected_server_ends_every_command_with_1_and_is_named_with_its_cause() {
    let url = refusing().await;
    let place = Place::new();
    for args in [&["tools"][..], &["tools", "--json"], &["call", "anything"]] {
        let ended = place.run(&[args, &["--url", &url]].concat()).await;
        assert_eq!(
            (ended.code, &*ended.stdout),
            (Some(1), ""),
            "{args:?}: {ended:?}"
        );
        let server = url.trim_start_matches("http://").trim_end_matches("/mcp");
        assert!(
            ended
                .stderr
                .contains(&format!("server `{server}` of source `mcp` rejects us")),
            "{args:?}: {}",
            ended.stderr
        );
        assert!(ended.stderr.contains("401"), "{args:?}: {}", ended.stderr);
    }
    // The list of servers is printed all the same: it is what shows what is wrong.
    let servers = place.run(&["servers", "--json", "--url", &url]).await;
    assert_eq!(servers.code, Some(1));
    assert_eq!(servers.json()[0]["state"], "rejected");
    assert!(
        servers.json()[0]["last_error"]
            .as_str()
            .unwrap()
            .contains("401")
    );
}

#[tokio::test]
async fn a_required_server_that_is_not_ready_in_time_ends_the_command_with_1() {
    let place = Place::with(
        "resources:
  real:
    kind: tool.Source
    impl: mcp
    settings: {servers: [{name: needed, transport: stdio, command: nowhere-at-all, required: true}]}
  tools: {kind: tool.Assembly, impl: memory, deps: {tool: real}}
",
    );
    for args in [&["tools", "--json"][..], &["call", "anything"]] {
        let ended = place.run(&[args, &["--wait", "300ms"]].concat()).await;
        assert_eq!(
            (ended.code, &*ended.stdout),
            (Some(1), ""),
            "{args:?}: {ended:?}"
        );
        assert!(
            ended
                .stderr
                .contains("server `needed` of source `real` is required and not ready"),
            "{args:?}: {}",
            ended.stderr
        );
        assert!(
            ended.stderr.contains("`nowhere-at-all`"),
            "{}",
            ended.stderr
        );
    }
    let servers = place.run(&["servers", "--json", "--wait", "300ms"]).await;
    assert_eq!(servers.code, Some(1));
    assert_eq!(servers.json()[0]["required"], true);
}

/// A proxy that wants credentials and never gets them, and its address.
async fn guarded_proxy() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut request = [0; 4096];
            let _ = stream.read(&mut request).await;
            let _ = stream
                .write_all(
                    b"HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
                )
                .await;
        }
    });
    address.to_string()
}

#[tokio::test]
async fn a_proxy_that_stands_between_is_named_without_its_credentials() {
    let free = {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        listener.local_addr().unwrap()
    };
    let guarded = guarded_proxy().await;
    for (name, variable, proxy, url, state, told) in [
        (
            "nothing listens at the proxy",
            "HTTP_PROXY",
            format!("http://me:hunter22@{free}"),
            "http://mcp.test/mcp",
            "backoff",
            format!("the proxy `http://{free}` let no connection to `http://mcp.test/mcp` through"),
        ),
        (
            "the proxy opens no tunnel",
            "HTTPS_PROXY",
            format!("http://{guarded}"),
            "https://mcp.test/mcp",
            "backoff",
            format!(
                "the proxy `http://{guarded}` let no connection to `https://mcp.test/mcp` through"
            ),
        ),
        (
            "the proxy wants credentials",
            "HTTP_PROXY",
            format!("http://{guarded}"),
            "http://mcp.test/mcp",
            "rejected",
            "give the proxy its credentials in `HTTP_PROXY`".to_owned(),
        ),
    ] {
        let place = Place::new().set(variable, &proxy);
        let ended = place.run(&["servers", "--json", "--url", url]).await;
        let row = &ended.json()[0];
        assert_eq!(row["state"], state, "{name}: {row}");
        let error = row["last_error"].as_str().unwrap();
        assert!(error.contains(&told), "{name}: {error}");
        assert!(error.contains("_PROXY`"), "{name}: {error}");
        assert!(!error.contains("hunter22"), "{name}: {error}");
    }
}

#[tokio::test]
async fn a_tool_that_panics_is_a_result_and_a_line_in_the_log_without_a_backtrace() {
    let place = Place::with(
        "resources:\n\
         \x20 sim: {kind: tool.Source, impl: sim, settings: {tools: [{name: boom, behavior: {panic: \
         {message: kaboom}}}]}}\n\
         \x20 tools: {kind: tool.Assembly, impl: memory, deps: {tool: sim}}\n",
    )
    .set("RUST_BACKTRACE", "1");
    for args in [&["call", "boom"][..], &["call", "boom", "-q"]] {
        let ended = place.run(args).await;
        assert_eq!(ended.code, Some(1), "{ended:?}");
        let log = &ended.stderr;
        assert!(log.contains("panic at "), "{log}");
        assert!(log.contains("kaboom"), "{log}");
        for raw in ["panicked at", "backtrace", "thread '"] {
            assert!(!log.contains(raw), "{raw} in {log}");
        }
    }
}

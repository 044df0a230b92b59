//! Where the browser comes back to: a listener on the loopback address that takes one answer.

use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// How long the operator may take in the browser.
const PATIENCE: Duration = Duration::from_secs(600);

/// How long a request may take; a browser that only opens a connection blocks nobody.
const ONE: Duration = Duration::from_secs(5);

/// How much of a request is read.
const HEAD: usize = 16 * 1024;

const PATH: &str = "/callback";

pub(super) struct Callback {
    listener: TcpListener,
    address: String,
}

impl Callback {
    pub(super) async fn listen() -> std::io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = format!("http://{}{PATH}", listener.local_addr()?);
        Ok(Self { listener, address })
    }

    /// The address that the browser is sent back to.
    pub(super) fn address(&self) -> &str {
        &self.address
    }

    /// Waits for the browser, and gives the address with the answer in it.
    pub(super) async fn wait(self) -> Result<String, String> {
        let answer = tokio::time::timeout(PATIENCE, async {
            loop {
                let Ok((stream, _)) = self.listener.accept().await else {
                    continue;
                };
                // Something else than the answer, such as a favicon, is turned away.
                if let Ok(Some(target)) = tokio::time::timeout(ONE, take(stream)).await {
                    return target;
                }
            }
        });
        let target = answer
            .await
            .map_err(|_| format!("nobody came back from the browser within {PATIENCE:?}"))?;
        let query = target.split_once('?').map_or("", |(_, query)| query);
        if let Some(error) = parameter(query, "error") {
            let more = parameter(query, "error_description");
            let more = more.map_or_else(String::new, |more| format!(": {more}"));
            return Err(format!("the authorization server answered `{error}`{more}"));
        }
        Ok(format!("{}?{query}", self.address))
    }
}

fn parameter(query: &str, name: &str) -> Option<String> {
    let mut pairs = url::form_urlencoded::parse(query.as_bytes());
    let found = pairs.find(|(key, _)| key == name)?;
    Some(found.1.into_owned())
}

/// Reads one request and answers it. Gives its target if that is ours.
async fn take(mut stream: TcpStream) -> Option<String> {
    let mut head = Vec::new();
    let mut chunk = [0; 2048];
    while !head.windows(4).any(|window| window == b"\r\n\r\n") && head.len() < HEAD {
        match stream.read(&mut chunk).await {
            Ok(0) | Err(_) => break,
            Ok(read) => head.extend_from_slice(&chunk[..read]),
        }
    }
    let text = String::from_utf8_lossy(&head);
    let mut words = text.lines().next().unwrap_or_default().split(' ');
    let (method, target) = (words.next(), words.next().unwrap_or_default());
    let path = target.split('?').next().unwrap_or_default();
    let ours = method == Some("GET") && path == PATH;
    let (status, body) = match ours {
        true => (
            "200 OK",
            "Done. You can close this page and go back to the console.\n",
        ),
        false => ("404 Not Found", "There is nothing here.\n"),
    };
    let answer = format!(
        "HTTP/1.1 {status}\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: {}\r\n\
         connection: close\r\n\r\n{body}",
        body.len()
    );
    // The browser may have gone; its answer counts all the same.
    let _ = stream.write_all(answer.as_bytes()).await;
    let _ = stream.shutdown().await;
    ours.then(|| target.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn get(address: &str, target: &str) -> String {
        let host = address.trim_start_matches("http://").trim_end_matches(PATH);
        let mut stream = TcpStream::connect(host).await.unwrap();
        let request = format!("GET {target} HTTP/1.1\r\nhost: {host}\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).await.unwrap();
        text
    }

    #[tokio::test]
    async fn other_requests_are_turned_away_until_the_answer_comes() {
        let callback = Callback::listen().await.unwrap();
        let address = callback.address().to_owned();
        let waiting = tokio::spawn(callback.wait());
        assert!(get(&address, "/favicon.ico").await.contains("404"));
        assert!(
            get(&address, "/callback?code=c&state=s")
                .await
                .contains("200")
        );
        assert_eq!(
            waiting.await.unwrap(),
            Ok(format!("{address}?code=c&state=s"))
        );
    }

    #[tokio::test]
    async fn a_refusal_is_told_in_the_words_of_the_authorization_server() {
        let callback = Callback::listen().await.unwrap();
        let address = callback.address().to_owned();
        let waiting = tokio::spawn(callback.wait());
        get(
            &address,
            "/callback?error=access_denied&error_description=not%20you",
        )
        .await;
        assert_eq!(
            waiting.await.unwrap(),
            Err("the authorization server answered `access_denied`: not you".to_owned())
        );
    }
}

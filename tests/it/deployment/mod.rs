//! Deployment files: what is accepted, what is refused and with which sentence, and what other
//! clients' files become.

mod combine;
mod fuzz;
mod import;
mod problems;
mod schema;
mod valid;

use std::path::PathBuf;

use toolcrib::deployment::{EnvValue, Environment};

/// Where the fixtures lie.
fn fixtures(sub: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures")
        .join(sub)
}

/// A small environment whose values are secret, but for `HOME`.
struct Variables;

impl Environment for Variables {
    fn get(&self, name: &str) -> Option<EnvValue> {
        let value = match name {
            "MCP_TOKEN" => "hunter2-hunter2",
            "KEY" => "sk-1234567",
            "API_TOKEN" => "api-token-value",
            "FLAG" => "true",
            "BOUND" => "250ms",
            "NUMBER" => "12",
            "SHORT" => "abc",
            "EMPTY" => "",
            "GITHUB_TOKEN" => "ghp-token-value",
            "CLOUD_TOKEN" => "cloud-token-value",
            "CLOUD_KEY" => "cloud-key-value",
            "HOME" => {
                return Some(EnvValue {
                    value: "/home/me".into(),
                    secret: false,
                });
            }
            _ => return None,
        };
        Some(EnvValue {
            value: value.into(),
            secret: true,
        })
    }
}

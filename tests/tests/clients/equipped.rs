//! What `tollgate exec` tells its command is all that each client needs, untouched and by its own habits: what is listed is reached, what is
//! not is denied in the client's own words, and the certificates are trusted for no other reason than the files that it is given.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode};
use hyper::body::Frame;
use tollgate_tests::exec::Exec;
use tollgate_tests::origin::{Reply, Seen, reply, streamed};
use tollgate_tests::policy::{self, HOST};
use tollgate_tests::real_clients::{folder, run};

/// A client, and how to see what became of it.
struct Client {
    name: &'static str,
    /// For `sh`, in an empty folder: asks for something below `$BASE`, an `https://` URL without a slash at its end. `$CLIENTS` is the folder
    /// of the clients.
    script: &'static str,
    /// What it says when it got that.
    allowed: &'static str,
    /// What it says when the path is not listed.
    denied: &'static str,
    /// What it says when the host is not.
    refused: &'static str,
}

const REASON: &str = r#""reason_code":"path_not_allowed""#;

/// Takes away whatever names a file of ours, and nothing else.
const WITHOUT_OUR_FILES: &str = r#"
ours=$(dirname "$SSL_CERT_FILE")
for name in $(env | grep "^[A-Za-z_]*=$ours/" | cut -d= -f1); do unset "$name"; done
export JAVA_TOOL_OPTIONS="$(echo "$JAVA_TOOL_OPTIONS" | sed 's/-Djavax[^ ]*//g')"
"#;

/// What clients call a certificate that they do not trust, in lower case.
const UNTRUSTED: [&str; 3] = ["certificate", "unknownissuer", "pkix"];

const RULES: [&str; 3] = [
    "rules:",
    "  - allow: { method: GET, path: \"/open/**\" }",
    "  - allow: { method: POST, path: \"/open/**\" }",
];

async fn all(clients: &[Client]) {
    let world = Exec::start(|ports| policy::ruled(ports, &RULES), shelf).await;
    let port = world.tls.port();
    let (open, closed) = (format!("https://{HOST}:{port}/open"), format!("https://{HOST}:{port}/closed"));
    let elsewhere = format!("https://evil.example.test:{port}/open");
    for client in clients {
        let name = client.name;
        let (output, said) = client.run(&world, &open, "").await;
        assert!(output.status.success() && said.contains(client.allowed), "{name}, allowed: {said}");
        let seen = world.tls.requests();
        assert!(!seen.is_empty(), "{name} got its answer from nowhere");

        for (base, expected, reason) in [
            (&closed, client.denied, "path_not_allowed"),
            (&elsewhere, client.refused, "host_not_allowed"),
        ] {
            let earlier = world.denied().len();
            let (_, said) = client.run(&world, base, "").await;
            assert!(
                said.contains(expected) && !said.contains(client.allowed),
                "{name}, {reason}: {said}"
            );
            let denied = world.denied().split_off(earlier);
            assert!(!denied.is_empty() && denied.iter().all(|code| code == reason), "{name}: {denied:?}");
        }
        let (_, said) = client.run(&world, &open, WITHOUT_OUR_FILES).await;
        let lower = said.to_lowercase();
        assert!(
            UNTRUSTED.iter().any(|word| lower.contains(word)) && !said.contains(client.allowed),
            "{name}, without our files: {said}"
        );
        assert_eq!(
            world.tls.requests().len(),
            seen.len(),
            "{name} was let through where it should not have been"
        );
    }
}

impl Client {
    async fn run(&self, world: &Exec, base: &str, before: &str) -> (Output, String) {
        let place = tempfile::tempdir().unwrap();
        let output = run(script(world, place.path(), base, &format!("{before}{}", self.script))).await;
        let said = said(&output);
        (output, said)
    }
}

fn script(world: &Exec, place: &Path, base: &str, text: &str) -> Command {
    let mut exec = world.command(&[], &["sh", "-c", text]);
    exec.current_dir(place)
        .env("BASE", base)
        .env("CLIENTS", folder())
        .env("HOME", place)
        .env("NO_COLOR", "1")
        .env("DENO_NO_UPDATE_CHECK", "1")
        .env("TOLLGATE_LOG", "error");
    // Rustup finds its toolchains by the home directory, unless it is told.
    for (name, folder) in [("RUSTUP_HOME", ".rustup"), ("GOCACHE", ".cache/go-build")] {
        if let (None, Some(home)) = (std::env::var_os(name), std::env::var_os("HOME")) {
            exec.env(name, Path::new(&home).join(folder));
        }
    }
    exec
}

fn said(output: &Output) -> String {
    format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

/// What an origin has for each kind of client, below any path.
fn shelf(seen: &Seen) -> Reply {
    let authority = seen.authority.as_deref().unwrap_or_default();
    let found = |text: String| reply(StatusCode::OK, text);
    let typed = |kind: &'static str, text: &str| {
        let mut answer = reply(StatusCode::OK, text.to_owned());
        answer.headers_mut().insert("content-type", HeaderValue::from_static(kind));
        answer
    };
    match seen.target.split('?').next().unwrap_or_default() {
        path if path.ends_with("/Call") => {
            let message = Frame::data(Bytes::from_static(&[0; 5]));
            let mut trailers = HeaderMap::new();
            trailers.insert("grpc-status", HeaderValue::from_static("0"));
            let mut answer = streamed([message, Frame::trailers(trailers)]);
            answer
                .headers_mut()
                .insert("content-type", HeaderValue::from_static("application/grpc"));
            answer
        }
        path if path.ends_with("/info/refs") => found(format!("{}\trefs/heads/main\n", "1".repeat(40))),
        path if path.ends_with("/config.json") => found(format!(r#"{{"dl":"https://{authority}/open/dl"}}"#)),
        path if path.ends_with("/de/mo/demo") => found(format!(
            "{}\n",
            serde_json::json!({ "name": "demo", "vers": "1.0.7", "deps": [], "cksum": "0".repeat(64), "features": {}, "yanked": false })
        )),
        path if path.ends_with("/npm/demo") => typed(
            "application/json",
            r#"{"name":"demo","dist-tags":{"latest":"1.0.7"},"versions":{"1.0.7":{"name":"demo","version":"1.0.7","dist":{"tarball":"https://example.test/demo.tgz"}}}}"#,
        ),
        path if path.ends_with("/simple/demo/") => typed(
            "text/html",
            r#"<a href="demo-1.0.7-py3-none-any.whl" data-core-metadata="true">demo-1.0.7-py3-none-any.whl</a>"#,
        ),
        path if path.ends_with(".whl.metadata") => found("Metadata-Version: 2.1\nName: demo\nVersion: 1.0.7\n".to_owned()),
        path if path.ends_with("/parent-1.pom") => found(
            "<project><modelVersion>4.0.0</modelVersion><groupId>demo</groupId><artifactId>parent</artifactId>\
             <version>1</version><packaging>pom</packaging></project>"
                .to_owned(),
        ),
        // The hash is that of nothing.
        path if path.ends_with("/Release") => found(
            "Origin: demo\nDate: Tue, 01 Dec 2020 00:00:00 UTC\nSHA256:\n \
             e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855 0 Packages\n"
                .to_owned(),
        ),
        path if path.contains(".pom.sha1") || path.contains("/debian/") => reply(StatusCode::NOT_FOUND, ""),
        path => found(format!("on the shelf: {path}")),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn curl_and_wget() {
    let clients = [
        Client {
            name: "curl",
            script: "curl -sS --max-time 20 $BASE/a",
            allowed: "on the shelf: /open/a",
            denied: REASON,
            refused: "CONNECT tunnel failed, response 403",
        },
        Client {
            name: "wget",
            script: "wget -nv --tries=1 --content-on-error -O- $BASE/a",
            allowed: "on the shelf: /open/a",
            denied: REASON,
            refused: "Proxy tunneling failed: Forbidden",
        },
    ];
    all(&clients).await;
}

/// Debian's git is built with GnuTLS, which reads no `SSL_CERT_FILE`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn git() {
    let clients = [Client {
        name: "git",
        script: "git ls-remote $BASE/r.git",
        allowed: "refs/heads/main",
        denied: "The requested URL returned error: 403",
        refused: "CONNECT tunnel failed, response 403",
    }];
    all(&clients).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn node_deno_and_bun() {
    let clients = [
        Client {
            name: "Node, fetch",
            script: "$CLIENTS/node_modules/node-linux-*/bin/node $CLIENTS/gets/fetch.mjs $BASE/a",
            allowed: "200 on the shelf: /open/a",
            denied: REASON,
            refused: "403",
        },
        Client {
            name: "Node, https",
            script: "$CLIENTS/node_modules/node-linux-*/bin/node $CLIENTS/gets/https.mjs $BASE/a",
            allowed: "200 on the shelf: /open/a",
            denied: REASON,
            refused: "statusCode: 403",
        },
        Client {
            name: "Node, undici",
            script: "$CLIENTS/node_modules/node-linux-*/bin/node $CLIENTS/gets/undici.mjs $BASE/a",
            allowed: "200 on the shelf: /open/a",
            denied: REASON,
            refused: "Proxy response (403)",
        },
        Client {
            name: "Deno",
            script: "$CLIENTS/node_modules/@deno/linux-*/deno run --allow-net $CLIENTS/gets/fetch.mjs $BASE/a",
            allowed: "200 on the shelf: /open/a",
            denied: REASON,
            refused: "unsuccessful tunnel",
        },
        Client {
            name: "Bun",
            script: "$CLIENTS/node_modules/@oven/bun-linux-*/bin/bun run $CLIENTS/gets/fetch.mjs $BASE/a",
            allowed: "200 on the shelf: /open/a",
            denied: REASON,
            refused: "ERR_PROXY_TUNNEL",
        },
    ];
    all(&clients).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn python() {
    let client = |name, script, refused| Client {
        name,
        script,
        allowed: "200 on the shelf: /open/a",
        denied: REASON,
        refused,
    };
    let clients = [
        client(
            "urllib",
            "$CLIENTS/.venv/bin/python $CLIENTS/gets/urllib_get.py $BASE/a",
            "Tunnel connection failed: 403",
        ),
        client(
            "requests",
            "$CLIENTS/.venv/bin/python $CLIENTS/gets/requests_get.py $BASE/a",
            "Tunnel connection failed: 403",
        ),
        client(
            "httpx",
            "$CLIENTS/.venv/bin/python $CLIENTS/gets/httpx_get.py $BASE/a",
            "ProxyError: 403 Forbidden",
        ),
        client(
            "aiohttp",
            "$CLIENTS/.venv/bin/python $CLIENTS/gets/aiohttp_get.py $BASE/a",
            "ClientHttpProxyError: 403",
        ),
    ];
    all(&clients).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pip_and_uv() {
    let clients = [
        Client {
            name: "pip",
            script: "$CLIENTS/.venv/bin/python -m pip --isolated --disable-pip-version-check --retries 1 index versions demo --index-url $BASE/simple/",
            allowed: "demo (1.0.7)",
            // It takes a 403 for an index without that package.
            denied: "No matching distribution found for demo",
            refused: "Tunnel connection failed: 403",
        },
        Client {
            name: "uv",
            script: "echo demo | UV_HTTP_RETRIES=0 $CLIENTS/.venv/bin/uv --no-config pip compile - --python $CLIENTS/.venv/bin/python --no-cache --no-header --index-url $BASE/simple/",
            allowed: "demo==1.0.7",
            denied: "returned a 403 Forbidden error",
            refused: "tunnel error: unsuccessful",
        },
    ];
    all(&clients).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn npm_and_cargo() {
    let clients = [
        Client {
            name: "npm",
            script: "npm view demo version --registry $BASE/npm/ --fetch-retries 0",
            allowed: "1.0.7",
            denied: "403 Forbidden",
            refused: "403 Forbidden",
        },
        Client {
            name: "cargo",
            script: CARGO,
            allowed: "1.0.7",
            denied: REASON,
            refused: "CONNECT tunnel failed, response 403",
        },
    ];
    all(&clients).await;
}

const CARGO: &str = r#"
mkdir src .cargo && : > src/lib.rs
printf '[package]\nname = "mine"\nversion = "0.1.0"\nedition = "2021"\n[dependencies]\ndemo = { version = "1", registry = "local" }\n' > Cargo.toml
printf '[registries.local]\nindex = "sparse+%s/index/"\n[net]\nretry = 0\n%s\n' "$BASE" "$FURTHER" > .cargo/config.toml
CARGO_HOME=$PWD/home cargo generate-lockfile && cat Cargo.lock
"#;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn go() {
    let clients = [Client {
        name: "Go",
        script: "GO111MODULE=off go run $CLIENTS/gets/get.go $BASE/a",
        allowed: "200 on the shelf: /open/a",
        denied: REASON,
        refused: "Forbidden",
    }];
    all(&clients).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn java() {
    let clients = [
        Client {
            name: "Java, HttpClient",
            script: "java $CLIENTS/gets/Get.java client $BASE/a",
            allowed: "200 on the shelf: /open/a",
            denied: REASON,
            refused: "403",
        },
        Client {
            name: "Java, HttpURLConnection",
            script: "java $CLIENTS/gets/Get.java connection $BASE/a",
            allowed: "200 on the shelf: /open/a",
            denied: REASON,
            refused: "403 Forbidden",
        },
    ];
    all(&clients).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn maven() {
    let clients = [Client {
        name: "Maven",
        script: r#"
printf '<project><modelVersion>4.0.0</modelVersion><parent><groupId>demo</groupId><artifactId>parent</artifactId><version>1</version><relativePath/></parent>
<artifactId>mine</artifactId><packaging>pom</packaging><repositories><repository><id>central</id><url>%s/maven</url></repository></repositories></project>' "$BASE" > pom.xml
mvn -B -Dmaven.repo.local=$PWD/repository validate"#,
        allowed: "BUILD SUCCESS",
        denied: "403 Forbidden",
        refused: "403",
    }];
    all(&clients).await;
}

/// Debian's Gradle brings eighty packages along, so `tests/run` does not install it; where it is, it is tested.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn gradle() {
    if !std::env::split_paths(&std::env::var_os("PATH").unwrap()).any(|folder| folder.join("gradle").is_file()) {
        // Not by a macro, which nobody would hear of a test that passes.
        let _ = std::io::stderr().write_all(b"\nSKIPPED: there is no gradle here (apt-get install gradle), so it was not tested\n");
        return;
    }
    let clients = [Client {
        name: "Gradle",
        script: r#"
printf 'repositories { maven { url System.getenv("BASE") + "/maven" } }\nconfigurations { c }\ndependencies { c "demo:parent:1@pom" }
task show { doLast { println "GOT " + configurations.c.files } }\n' > build.gradle
gradle --no-daemon --gradle-user-home $PWD/gradle -q show"#,
        allowed: "GOT [",
        denied: "Received status code 403",
        refused: "403",
    }];
    all(&clients).await;
}

const APT: &str = r#"
mkdir -p lists/partial cache/archives/partial parts
echo "deb [trusted=yes] $BASE/debian ./" > sources.list
apt-get -o APT::Sandbox::User=root -o Dir::Etc::sourcelist=$PWD/sources.list -o Dir::Etc::sourceparts=$PWD/parts -o Dir::State::lists=$PWD/lists \
    -o Dir::Cache=$PWD/cache -o Acquire::Retries=0 -o Acquire::Languages=none update
ls lists"#;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn apt() {
    let clients = [Client {
        name: "apt",
        script: APT,
        allowed: "debian_._Release",
        denied: "403  Forbidden",
        refused: "X-Tollgate-Reason: host_not_allowed",
    }];
    all(&clients).await;
}

/// Most repositories are reached without TLS.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn apt_over_cleartext() {
    let world = Exec::start(|ports| policy::ruled(ports, &RULES), shelf).await;
    for (host, path, expected) in [
        (HOST, "open", "debian_._Release"),
        (HOST, "closed", "403  Forbidden"),
        ("evil.example.test", "open", "403  Forbidden"),
    ] {
        let place = tempfile::tempdir().unwrap();
        let base = format!("http://{host}:{}/{path}", world.plain.port());
        let said = said(&run(script(&world, place.path(), &base, APT)).await);
        assert!(said.contains(expected), "{base}: {said}");
    }
    assert!(world.plain.requests().iter().all(|seen| seen.target.starts_with("/open/")));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn grpc_of_the_c_core() {
    let clients = [Client {
        name: "gRPC",
        script: "$CLIENTS/.venv/bin/python $CLIENTS/gets/grpc_get.py $BASE/Call",
        allowed: "OK /open/Call",
        denied: "PERMISSION_DENIED",
        refused: "UNAVAILABLE",
    }];
    all(&clients).await;
}

/// What a user's own files say about another proxy and other roots would lead around Tollgate, or nowhere.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn settings_from_before_do_not_come_first() {
    let world = Exec::start(|ports| policy::ruled(ports, &RULES), shelf).await;
    let base = format!("https://{HOST}:{}/open", world.tls.port());
    let npm = "printf 'proxy=http://127.0.0.1:9\\nhttps-proxy=http://127.0.0.1:9\\ncafile=/etc/hostname\\n' > .npmrc
npm view demo version --registry $BASE/npm/ --fetch-retries 0";
    let cargo = format!("FURTHER='[http]\nproxy = \"127.0.0.1:9\"\ncainfo = \"/etc/hostname\"'\n{CARGO}");
    for (name, text, expected) in [("npm", npm, "1.0.7"), ("cargo", &cargo, "1.0.7")] {
        let place = tempfile::tempdir().unwrap();
        let said = said(&run(script(&world, place.path(), &base, text)).await);
        assert!(said.contains(expected), "{name}: {said}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn settings_of_wget_are_read_besides_ours() {
    let world = Exec::start(|ports| policy::ruled(ports, &RULES), shelf).await;
    let place = tempfile::tempdir().unwrap();
    let base = format!("https://{HOST}:{}/open", world.tls.port());
    let text = "echo 'header = X-Mine: 1' > .wgetrc; wget -nv --tries=1 -O- $BASE/a";
    let output = run(script(&world, place.path(), &base, text)).await;
    assert!(output.status.success(), "{}", said(&output));
    assert_eq!(world.tls.last().header("x-mine"), Some("1"));
}

/// Another user of the machine could put roots of their own there.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_files_are_of_this_run_and_nobody_else_may_write_them() {
    let world = Exec::start(|ports| policy::ruled(ports, &RULES), shelf).await;
    let place = tempfile::tempdir().unwrap();
    let list = r#"cd "$(dirname "$SSL_CERT_FILE")" && pwd && stat -c '%a %n' . *"#;
    let output = run(script(&world, place.path(), "", list)).await;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let lines: Vec<&str> = text.lines().collect();
    let expected = [
        "755 .",
        "644 apt.conf",
        "644 ca-bundle.pem",
        "644 tollgate-ca.pem",
        "644 truststore.jks",
        "644 wgetrc",
    ];
    assert_eq!(lines[1..], expected, "{}", said(&output));
    assert!(!Path::new(lines[0]).exists(), "{} is still there", lines[0]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn options_of_java_that_were_there_are_kept() {
    let world = Exec::start(|ports| policy::ruled(ports, &RULES), shelf).await;
    let place = tempfile::tempdir().unwrap();
    let mut exec = script(&world, place.path(), "", "echo $JAVA_TOOL_OPTIONS; echo $MAVEN_OPTS");
    exec.env("JAVA_TOOL_OPTIONS", "-Dmine=1").env("MAVEN_OPTS", "-Xmx99m");
    let said = said(&run(exec).await);
    assert!(said.contains("-Dmine=1 -Dhttp.proxyHost=127.0.0.1 "), "{said}");
    assert!(said.contains("-Xmx99m -Daether."), "{said}");
}

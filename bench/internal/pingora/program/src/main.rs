// A proxy that forwards every request to one server, over connections that it keeps.
//
//	ferry-bench-pingora THREADS LISTEN UPSTREAM
use async_trait::async_trait;
use pingora_core::server::configuration::ServerConf;
use pingora_core::server::Server;
use pingora_core::upstreams::peer::HttpPeer;
use pingora_core::Result;
use pingora_proxy::{http_proxy_service, ProxyHttp, Session};

struct Forward {
    upstream: String,
}

#[async_trait]
impl ProxyHttp for Forward {
    type CTX = ();

    fn new_ctx(&self) {}

    async fn upstream_peer(&self, _: &mut Session, _: &mut ()) -> Result<Box<HttpPeer>> {
        Ok(Box::new(HttpPeer::new(&self.upstream, false, String::new())))
    }
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let [_, threads, listen, upstream] = args.as_slice() else {
        eprintln!("usage: ferry-bench-pingora THREADS LISTEN UPSTREAM");
        std::process::exit(2);
    };
    let conf = ServerConf {
        threads: threads.parse().expect("THREADS is a number"),
        upstream_keepalive_pool_size: 2000,
        grace_period_seconds: Some(0),
        graceful_shutdown_timeout_seconds: Some(0),
        ..ServerConf::default()
    };
    let mut server = Server::new_with_opt_and_conf(None, conf);
    server.bootstrap();
    let mut service = http_proxy_service(
        &server.configuration,
        Forward {
            upstream: upstream.clone(),
        },
    );
    service.add_tcp(listen);
    server.add_service(service);
    server.run_forever();
}

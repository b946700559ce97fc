package httpproxy

import "slices"

// nginxConfig follows nginx's documentation for keep-alive to upstreams: HTTP/1.1, no Connection field, many idle connections.
// It speaks HTTP/2 to servers for gRPC only. Several workers share the port (SO_REUSEPORT), so the kernel spreads the connections over them.
const nginxConfig = `daemon off;
user root;
pid {{.Dir}}/nginx.pid;
error_log stderr error;
worker_processes {{.Workers}};
worker_rlimit_nofile 20000;
events { worker_connections 20000; }
http {
	access_log off;
	client_body_temp_path {{.Dir}}/nginx-body;
	proxy_temp_path {{.Dir}}/nginx-proxy;
	fastcgi_temp_path {{.Dir}}/nginx-fastcgi;
	uwsgi_temp_path {{.Dir}}/nginx-uwsgi;
	scgi_temp_path {{.Dir}}/nginx-scgi;
	keepalive_timeout 1h;
	keepalive_requests 1000000000;
	upstream up {
		server {{.Upstream}};
		keepalive 1024;
		keepalive_requests 1000000000;
		keepalive_timeout 1h;
	}
	server {
		listen {{.Listen}} backlog=4096{{if gt .Workers 1}} reuseport{{end}}{{if .TLS.Cert}} ssl{{end}}{{if .HTTP2}} http2{{end}};
{{- if .TLS.Cert}}
		ssl_certificate {{.TLS.Cert}};
		ssl_certificate_key {{.TLS.Key}};
		ssl_protocols TLSv1.2 TLSv1.3;
		ssl_ecdh_curve X25519;
{{- end}}
{{- if .UpstreamTLS.Cert}}
		proxy_ssl_verify on;
		proxy_ssl_trusted_certificate {{.UpstreamTLS.Cert}};
		proxy_ssl_name localhost;
		proxy_ssl_server_name on;
{{- end}}
		location / {
{{- if .GRPC}}
			client_max_body_size 0;
			grpc_pass grpc://up;
		}
{{- else}}
			proxy_pass http{{if .UpstreamTLS.Cert}}s{{end}}://up;
			proxy_http_version 1.1;
			proxy_set_header Connection "";
		}
{{- end}}
	}
}
`

func nginx() (Program, error) {
	path, version, err := Installed("nginx", "-v")
	if err != nil {
		return Program{Name: "nginx"}, err
	}
	return nginxAt([]string{path}, version), nil
}

// nginxAt returns the nginx that a command line starts.
func nginxAt(command []string, version string) Program {
	p := configured("nginx", version, "nginx.conf", nginxConfig, func(s Setup, file string) []string {
		return slices.Concat(command, []string{"-p", s.Dir, "-e", "stderr", "-c", file})
	})
	p.supports = func(s Setup) bool { return !s.UpstreamHTTP2 || s.GRPC }
	return p
}

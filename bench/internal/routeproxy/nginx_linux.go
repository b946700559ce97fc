package routeproxy

import (
	"fmt"
	"path/filepath"
	"strings"
	"syscall"

	"example.com/ferry/bench/internal/httpproxy"
	"example.com/ferry/bench/internal/routeset"
)

// nginx reads its files again after SIGHUP to its master process, which is what `nginx -s reload` sends, after it has read them itself.
func nginx() ([]Proxy, error) {
	path, version, err := httpproxy.Installed("nginx", "-v")
	if err != nil {
		return nil, fmt.Errorf("nginx has no row: %w", err)
	}
	return []Proxy{{
		Name: Nginx, Version: version, signal: syscall.SIGHUP,
		files: func(s httpproxy.Setup, set routeset.Set) []file { return []file{{"nginx.conf", nginxConfig(s, set)}} },
		argv: func(s httpproxy.Setup) []string {
			return []string{path, "-p", s.Dir, "-e", "stderr", "-c", filepath.Join(s.Dir, "nginx.conf")}
		},
	}}, nil
}

func nginxConfig(s httpproxy.Setup, set routeset.Set) string {
	var b strings.Builder
	fmt.Fprintf(&b, `daemon off;
user root;
pid %[1]s/nginx.pid;
error_log stderr error;
worker_processes %[2]d;
worker_rlimit_nofile 20000;
events { worker_connections 20000; }
http {
	access_log off;
	client_body_temp_path %[1]s/nginx-body;
	proxy_temp_path %[1]s/nginx-proxy;
	fastcgi_temp_path %[1]s/nginx-fastcgi;
	uwsgi_temp_path %[1]s/nginx-uwsgi;
	scgi_temp_path %[1]s/nginx-scgi;
	keepalive_timeout 1h;
	keepalive_requests 1000000000;
	server_names_hash_max_size 16384;
	server_names_hash_bucket_size 128;
	map_hash_max_size 65536;
	map_hash_bucket_size 128;
	proxy_http_version 1.1;
	upstream up {
		server %[3]s;
		keepalive 1024;
		keepalive_requests 1000000000;
		keepalive_timeout 1h;
	}
	server {
		listen %[4]s default_server backlog=4096;
		return 404;
	}
`, s.Dir, s.Workers, s.Upstream, s.Listen)
	for _, routes := range set.Hosts() {
		if set.Kind == routeset.Header {
			fmt.Fprintf(&b, "\tmap $http_%s $route {\n%s\t}\n", nginxVariable(routeset.HeaderName), each(routes, func(b *strings.Builder, i int) {
				fmt.Fprintf(b, "\t\t%s %s;\n", set.HeaderValue(i), set.Name(i))
			}))
		}
		fmt.Fprintf(&b, "\tserver {\n\t\tlisten %s;\n\t\tserver_name %s;\n", s.Listen, set.Host(routes[0]))
		if set.Kind == routeset.Header {
			b.WriteString("\t\tlocation / {\n\t\t\tif ($route = \"\") { return 404; }\n" + nginxForward("$route") + "\t\t}\n")
		} else {
			b.WriteString("\t\tlocation / { return 404; }\n" + each(routes, func(b *strings.Builder, i int) {
				fmt.Fprintf(b, "\t\tlocation %s {\n%s\t\t}\n", set.Prefix(i), nginxForward(set.Name(i)))
			}))
		}
		b.WriteString("\t}\n")
	}
	return b.String() + "}\n"
}

func nginxForward(route string) string {
	return fmt.Sprintf("\t\t\tproxy_set_header Connection \"\";\n\t\t\tproxy_set_header %s %s;\n\t\t\tproxy_pass http://up;\n", routeset.RouteHeader, route)
}

// nginxVariable returns the name of a header field in the names of nginx's variables.
func nginxVariable(header string) string {
	return strings.ReplaceAll(strings.ToLower(header), "-", "_")
}

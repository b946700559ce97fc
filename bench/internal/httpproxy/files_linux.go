package httpproxy

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	"example.com/ferry/bench/internal/pinned"
)

// filesConfig is nginx as a file server, with the settings for files of Debian's nginx.conf. A PUT below /put/ stores its body, which
// nginx reads whole before it responds.
const filesConfig = `daemon off;
user root;
pid {{.Dir}}/nginx.pid;
error_log stderr error;
worker_processes 1;
events { worker_connections 4096; }
http {
	access_log off;
	default_type application/octet-stream;
	sendfile on;
	tcp_nopush on;
	keepalive_timeout 1h;
	keepalive_requests 1000000000;
	client_max_body_size 0;
	client_body_buffer_size 2m;
	client_body_temp_path {{.Root}}/temp; # on the same file system
	proxy_temp_path {{.Dir}}/nginx-proxy;
	fastcgi_temp_path {{.Dir}}/nginx-fastcgi;
	uwsgi_temp_path {{.Dir}}/nginx-uwsgi;
	scgi_temp_path {{.Dir}}/nginx-scgi;
	server {
		listen {{.Listen}} backlog=4096;
		root {{.Root}};
		location /put/ { dav_methods PUT; }
	}
}
`

// ServesFiles reports whether StartFiles can start its program.
func ServesFiles() bool {
	_, _, err := Installed("nginx", "-v")
	return err == nil
}

// StartFiles starts nginx as a server of the files in root, with its own files in dir. A PUT to /put/NAME stores its body in root/put, which
// has to exist. The caller stops it.
func StartFiles(dir, root string, cores []int, listen string) (*pinned.Process, error) {
	path, _, err := Installed("nginx", "-v")
	if err != nil {
		return nil, fmt.Errorf("httpproxy: nginx: %w", err)
	}
	s := struct {
		Setup
		Root string
	}{Setup{Dir: dir, Cores: cores, Listen: listen}, root}
	var text strings.Builder
	if err := template.Must(template.New("files").Parse(filesConfig)).Execute(&text, s); err != nil {
		return nil, fmt.Errorf("httpproxy: nginx: %w", err)
	}
	file := filepath.Join(dir, "files.conf")
	if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
		return nil, fmt.Errorf("httpproxy: %w", err)
	}
	return Launch(s.Setup, path, "-p", dir, "-e", "stderr", "-c", file)
}

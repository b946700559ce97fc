//go:build proof

package change

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"text/template"

	"example.com/ferry/bench/internal/clientload"
	"example.com/ferry/internal/needs"
)

var nginxConf = template.Must(template.New("nginx.conf").Parse(`user root;
pid {{.Dir}}/nginx.pid;
error_log {{.Dir}}/nginx.log notice;
worker_processes 2;
worker_shutdown_timeout 10s;
events { worker_connections 4096; }
http {
	access_log off;
	client_body_temp_path {{.Dir}}/body; proxy_temp_path {{.Dir}}/proxy; fastcgi_temp_path {{.Dir}}/f; uwsgi_temp_path {{.Dir}}/u; scgi_temp_path {{.Dir}}/s;
	keepalive_requests 1000000;
	upstream web { server {{.Plan.Server}}; keepalive 64; }
	proxy_http_version 1.1;
	proxy_set_header Connection "";
	add_header X-Plan {{.Plan.Number}};
	server { listen {{.Plan.At.http1}}; location / { proxy_pass http://web; } }
	server { listen {{.Plan.At.http2}} http2; location / { proxy_pass http://web; } }
	server {
		listen {{.Plan.At.https}} ssl http2;
		ssl_certificate {{.Dir}}/leaf.pem;
		ssl_certificate_key {{.Dir}}/leaf.key;
		location / { proxy_pass http://web; }
	}
}
`))

// nginx is a master process of nginx with its workers. It runs as a daemon: nginx upgrades only then.
type nginx struct {
	*program
	backends    *backends
	certificate *certificate
	plan        plan
}

func newNginx(t *testing.T) *nginx {
	t.Helper()
	path := needs.Program(t, "nginx")
	dir := t.TempDir()
	n := &nginx{program: newProgram(t, dir, "nginx", path), backends: newBackends(t), certificate: newCertificate(t, dir)}
	n.endsWith = syscall.SIGQUIT
	n.plan = plan{At: newAddresses(t, []string{"http1", "http2", "https"})}
	n.next()
	n.write(n.conf())
	if out, err := n.command("-p", dir, "-e", n.output, "-c", filepath.Join(dir, "nginx.conf")).CombinedOutput(); err != nil {
		t.Fatalf("nginx: %v: %s", err, out)
	}
	await(t, "nginx listens", n.counts)
	pid, err := n.readPID()
	if err != nil {
		t.Fatal(err)
	}
	n.pid = pid
	return n
}

func (n *nginx) name() string { return "nginx" }

func (n *nginx) kinds() []clientload.Kind { return httpKinds(n.plan.At, n.certificate.trust()) }

func (n *nginx) next() {
	n.plan.Number++
	n.plan.Server = n.backends.web[n.plan.Number%2].Addr
}

func (n *nginx) conf() string {
	n.t.Helper()
	var b strings.Builder
	if err := nginxConf.Execute(&b, struct {
		Dir  string
		Plan *plan
	}{n.dir, &n.plan}); err != nil {
		n.t.Fatal(err)
	}
	return b.String()
}

func (n *nginx) write(text string) {
	n.t.Helper()
	if err := os.WriteFile(filepath.Join(n.dir, "nginx.conf"), []byte(text), 0o600); err != nil {
		n.t.Fatal(err)
	}
}

func (n *nginx) readPID() (int, error) {
	text, err := os.ReadFile(filepath.Join(n.dir, "nginx.pid"))
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(string(text)))
}

func (n *nginx) counts() error {
	for _, url := range []string{"http://" + n.plan.At["http1"], "https://" + n.plan.At["https"]} {
		if err := planOf(n.certificate, url, n.plan.Number, strconv.Itoa(n.plan.Number%2)); err != nil {
			return err
		}
	}
	return nil
}

func (n *nginx) same() {
	n.t.Helper()
	if err := n.counts(); err != nil {
		n.t.Error(err)
	}
}

func (n *nginx) reload() {
	n.t.Helper()
	n.next()
	n.write(n.conf())
	n.signal(syscall.SIGHUP)
	await(n.t, "the plan counts", n.counts)
}

func (n *nginx) rotate() {
	n.t.Helper()
	n.certificate.rotate(n.t)
	n.signal(syscall.SIGHUP)
	n.certificate.await(n.t, n.plan.At["https"])
}

// upgrade starts another master, and ends the one before: https://nginx.org/en/docs/control.html#upgrade.
func (n *nginx) upgrade() {
	n.t.Helper()
	before := n.pid
	n.signal(syscall.SIGUSR2)
	await(n.t, "the new process serves", func() error {
		pid, err := n.readPID()
		switch {
		case err != nil:
			return err
		case pid == before:
			return errors.New("nginx.pid has the process before")
		}
		workers, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
		if err == nil && len(workers) == 0 {
			err = errors.New("it has no workers")
		}
		n.pid = pid
		return err
	})
	if err := syscall.Kill(before, syscall.SIGQUIT); err != nil {
		n.t.Fatal(err)
	}
	n.awaitEnd(before)
	n.alive()
}

func (n *nginx) breakFile() {
	n.t.Helper()
	n.write("http { nothing; }\n")
	n.logs("unknown directive", func() { n.signal(syscall.SIGHUP) })
	n.same()
	n.write(n.conf())
}

func (n *nginx) breakProgram(int) {
	n.t.Helper()
	n.replace("\x7fELF is not enough")
	defer n.repair()
	n.logs("exited with code", func() { n.signal(syscall.SIGUSR2) })
	await(n.t, "nginx.pid is restored", func() error {
		pid, err := n.readPID()
		if err == nil && pid != n.pid {
			err = fmt.Errorf("it has process %d, want %d", pid, n.pid)
		}
		return err
	})
	n.alive()
	n.same()
}

// logs waits until the log has one more line with text than before do.
func (n *nginx) logs(text string, do func()) {
	n.t.Helper()
	count := func() int {
		log, err := os.ReadFile(n.output)
		if err != nil {
			n.t.Fatal(err)
		}
		return strings.Count(string(log), text)
	}
	before := count()
	do()
	await(n.t, "the log says "+text, func() error {
		if count() == before {
			return errors.New("it does not")
		}
		return nil
	})
}

package main

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"example.com/ferry/bench/internal/harness"
	"example.com/ferry/bench/internal/httpproxy"
	"example.com/ferry/bench/internal/keepalive"
	"example.com/ferry/bench/internal/pinned"
)

// body is what the requests of a load transfer in one direction, in place of 1 KiB in both.
type body struct {
	name   string
	size   int // bytes
	upload bool
}

var bodies = []body{
	{"10 KiB", 10 << 10, false},
	{"64 KiB", 64 << 10, false},
	{"1 MiB", 1 << 20, false},
	{"64 MiB", 64 << 20, false},
	{"upload of 1 MiB", 1 << 20, true},
}

// bodyLoads returns the loads with bodies. There are none without nginx, their backend.
func bodyLoads() (all []load) {
	if !httpproxy.ServesFiles() {
		return nil
	}
	for _, b := range bodies {
		for _, conns := range []int{8, 50} {
			all = append(all, load{name: fmt.Sprintf("%s x %d", b.name, conns), conns: conns, hops: 1, proxy: []int{0}, ends: []int{1}, body: &b})
		}
	}
	return all
}

// path is the path of the requests. Uploads have one for each connection, which begins with it.
func (b *body) path() string {
	if b.upload {
		return "/put/"
	}
	return fmt.Sprintf("/%d", b.size)
}

// prepareFiles writes the files of the backend.
func (e *experiment) prepareFiles() error {
	e.files = filepath.Join(e.dir, "files")
	if err := os.Mkdir(e.files, 0o700); err != nil {
		return err
	}
	for _, b := range bodies {
		if b.upload {
			continue
		}
		if err := os.WriteFile(filepath.Join(e.files, b.path()), keepalive.FileBody(b.size), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// startBackend starts the backend of a load. Root is the directory of its files, if it has any. stop ends the backend.
func (e *experiment) startBackend(l load) (backend *pinned.Process, root string, stop func(), err error) {
	if l.body == nil {
		backend, err = keepalive.StartBackend(l.ends, keepalive.HTTP1, bodySize, e.at.backend)
		if err != nil {
			return nil, "", nil, err
		}
		return backend, "", backend.Stop, nil
	}
	dir, err := os.MkdirTemp(e.dir, "backend-")
	if err != nil {
		return nil, "", nil, err
	}
	root, remove := e.files, func() {}
	if l.body.upload {
		// A disk would slow down the backend, which stores what is uploaded.
		if root, err = os.MkdirTemp("/dev/shm", "ferry-bench-"); err != nil {
			return nil, "", nil, err
		}
		remove = func() { _ = os.RemoveAll(root) }
		if err := os.Mkdir(filepath.Join(root, "put"), 0o700); err != nil {
			remove()
			return nil, "", nil, err
		}
	}
	if backend, err = httpproxy.StartFiles(dir, root, l.ends, e.at.backend); err != nil {
		remove()
		return nil, "", nil, err
	}
	return backend, root, func() { backend.Stop(); remove() }, nil
}

// clientSpec returns the client of a load.
func (l load) clientSpec(addr string) keepalive.Spec {
	s := keepalive.Spec{Wire: keepalive.HTTP1, Addr: addr, Conns: l.conns, Size: bodySize, Cores: l.ends}
	if l.body != nil {
		s.Wire, s.Size, s.Path, s.Put = keepalive.Bodies, l.body.size, l.body.path(), l.body.upload
	}
	return s
}

// bodyFigures returns the figures of a load with bodies. Bodies that are under way count for what has passed of them.
func bodyFigures(r *keepalive.Report, b *body) harness.Figures {
	mib := float64(r.Bytes) / (1 << 20)
	f := harness.Figures{cpu: 100 * r.CPU.Seconds() / r.Window.Seconds(), mibps: mib / r.Window.Seconds(), failures: float64(r.Failures)}
	if r.Bytes > 0 {
		f[perMiB] = float64(r.CPU.Microseconds()) / mib
		f[perRequest] = f[perMiB] * float64(b.size) / (1 << 20)
	}
	return f
}

// checkTime bounds one request of checkBodies.
const checkTime = time.Minute

// checkBodies transfers each body through each row, several at once, and compares the SHA-256 of what arrives.
func (e *experiment) checkBodies() error {
	for _, l := range bodyLoads() {
		for _, c := range e.contenders {
			if !c.in(l) || l.conns > 8 {
				continue
			}
			if err := e.checkBody(c, l); err != nil {
				return fmt.Errorf("%s, %s: %w", c.name, l.name, err)
			}
		}
	}
	return nil
}

func (e *experiment) checkBody(c contender, l load) error {
	_, root, stop, err := e.startBackend(l)
	if err != nil {
		return err
	}
	defer stop()
	proxies, front, err := e.startProxies(c, l)
	defer func() {
		for _, p := range proxies {
			p.Stop()
		}
	}()
	if err != nil {
		return err
	}
	content := keepalive.FileBody(l.body.size)
	const atOnce, each = 3, 2
	var errs [atOnce]error
	var all sync.WaitGroup
	for i := range errs {
		all.Go(func() {
			for range each {
				if errs[i] = transfer("http://"+front+l.body.path(), i, content, l.body.upload, root); errs[i] != nil {
					return
				}
			}
		})
	}
	all.Wait()
	return errors.Join(errs[:]...)
}

// transfer makes one request, and returns an error unless content arrives at its end.
func transfer(url string, i int, content []byte, upload bool, root string) error {
	client := http.Client{Timeout: checkTime}
	want := sha256.Sum256(content)
	if upload {
		url = fmt.Sprint(url, i)
		req, err := http.NewRequest(http.MethodPut, url, bytes.NewReader(content))
		if err != nil {
			return err
		}
		resp, err := client.Do(req)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		if resp.StatusCode/100 != 2 {
			return fmt.Errorf("%s: status %s", url, resp.Status)
		}
		stored, err := os.ReadFile(filepath.Join(root, "put", fmt.Sprint(i)))
		if err != nil {
			return err
		}
		if got := sha256.Sum256(stored); got != want {
			return fmt.Errorf("%s: %d bytes with the hash %x: want %d with %x", url, len(stored), got, len(content), want)
		}
		return nil
	}
	resp, err := client.Get(url)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	hash := sha256.New()
	n, err := io.Copy(hash, resp.Body)
	if err != nil {
		return err
	}
	if got := hash.Sum(nil); resp.StatusCode != http.StatusOK || !bytes.Equal(got, want[:]) {
		return fmt.Errorf("%s: status %s, %d bytes with the hash %x: want %d with %x", url, resp.Status, n, got, len(content), want)
	}
	return nil
}

// bodyGoals are the goals of the loads with bodies.
func bodyGoals(better func(load, figure string) func(*harness.Result) float64) (all []harness.Goal) {
	for _, l := range bodyLoads() {
		all = append(all,
			harness.AtMost(1, l.name+": CPU time, times the better of nginx and HAProxy", better(l.name, perRequest)),
			harness.AtMost(8, l.name+": "+growth, func(r *harness.Result) float64 { return stat(r, l.name, growth).Max }))
	}
	return all
}

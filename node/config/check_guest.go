package config

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path"
	"slices"

	"example.com/ferry/internal/regularfile"
	"example.com/ferry/stream/wasm"
)

// checkWasm checks what is about a wasm guest.
func (f Function) checkWasm(at string, limits Limits, errs *configErrors) {
	if f.Wasm == "" {
		for _, each := range []struct {
			field string
			set   bool
		}{{"memory", f.Memory != 0}, {"env", len(f.Env) > 0}, {"mounts", len(f.Mounts) > 0}} {
			if each.set {
				errs.add(at+each.field, "means nothing without wasm: leave it out")
			}
		}
		return
	}
	if err := checkGuestFile(f.Wasm); err != nil {
		errs.add(at+"wasm", "%v", err)
	}
	if f.CPU == Worker {
		errs.add(at+"cpu", "%q is for processes: a wasm guest runs within the node, write heavy or light, or leave it out", f.CPU)
	}
	if f.Timeout > limits.WasmTimeout {
		errs.add(at+"timeout", "%v exceeds limits.wasm_timeout, %v", f.Timeout, limits.WasmTimeout)
	}
	for i, m := range f.Mounts {
		m.check(fmt.Sprintf("%smounts[%d].", at, i), errs)
	}
}

func (m Mount) check(at string, errs *configErrors) {
	if info, err := os.Stat(m.Host); err != nil {
		errs.add(at+"host", "%v", err)
	} else if !info.IsDir() {
		errs.add(at+"host", "%s is no directory", m.Host)
	}
	if !path.IsAbs(m.Guest) {
		errs.add(at+"guest", "%q is not absolute: write a path such as /data", m.Guest)
	}
}

// checkGuestFile reads the first bytes of a guest.
func checkGuestFile(file string) error {
	if info, err := os.Stat(file); err == nil && !info.IsDir() && !info.Mode().IsRegular() { // opening a pipe would block
		return fmt.Errorf("%s: %w", file, regularfile.ErrSpecial)
	}
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	var magic [4]byte
	if _, err := io.ReadFull(f, magic[:]); err != nil || !bytes.Equal(magic[:], []byte("\x00asm")) {
		return fmt.Errorf("%s is not a WebAssembly module: it does not begin with 00 61 73 6d", file)
	}
	if info, err := f.Stat(); err == nil && info.Size() > wasm.MaxGuest {
		return fmt.Errorf("%s has %v: at most %v", file, Size(info.Size()), Size(wasm.MaxGuest))
	}
	return nil
}

// WasmMemory returns what all wasm guests may have together: their compiled code, the memory and the tables of all instances, and what the compiler needs for
// the module for which it needs most. A sum beyond what Size holds is the largest Size.
func (c *Config) WasmMemory() Size {
	const most = Size(1<<63 - 1)
	var sum, compile Size
	for _, f := range c.Functions {
		n := Size(f.Concurrency)
		if f.Wasm == "" || n == 0 || f.Memory <= 0 {
			continue
		}
		var s wasm.Sizes
		if module, err := regularfile.Read(f.Wasm, wasm.MaxGuest); err == nil { // other checks report a file that cannot be read
			s = wasm.SizesOf(module)
		}
		instance, code := f.Memory+Size(s.Instance), wholeMiB(s.Code)
		compile = max(compile, wholeMiB(s.Compile))
		if n > (most-sum-code-compile)/instance {
			return most
		}
		sum += n*instance + code
	}
	return sum + compile
}

func wholeMiB(bytes int64) Size {
	const unit = 1 << 20
	return (Size(bytes) + unit - 1) / unit * unit
}

// Guests returns the files of wasm guests, each once.
func (c *Config) Guests() []string {
	var files []string
	for _, f := range c.Functions {
		if f.Wasm != "" && !slices.Contains(files, f.Wasm) {
			files = append(files, f.Wasm)
		}
	}
	return files
}

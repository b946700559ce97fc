package certs

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"strings"
	"time"

	"example.com/ferry/internal/invalid"
)

// maxFile bounds a certificate, key or CA file, in bytes. The CA file of a Linux distribution has 220 KB.
const maxFile = 4 << 20

// Files are the PEM files of a certificate and of its key.
type Files struct {
	CertFile string // the certificate, then the intermediate certificates
	KeyFile  string
}

// Role is the use of a file.
type Role uint8

// The roles.
const (
	Certificate Role = iota
	Key
	CA
)

// String returns the role's name in messages and in the metrics label kind.
func (r Role) String() string { return [...]string{"certificate", "key", "ca"}[r] }

// FileError is a file that cannot be used. Its text contains nothing of the file's content.
type FileError struct {
	Role Role
	File string
	Err  error
}

// Error returns the text "certs: file: reason".
func (e *FileError) Error() string { return "certs: " + e.File + ": " + e.Err.Error() }

// Unwrap returns the reason.
func (e *FileError) Unwrap() error { return e.Err }

// Check reads the files once and returns the first error as a *FileError, or nil.
func (f Files) Check() error {
	_, err := load(f.source(), read(f.source()))
	return err
}

// CheckCA reads a CA file once and returns its error as a *FileError, or nil.
func CheckCA(file string) error {
	_, err := load(caSource(file), read(caSource(file)))
	return err
}

// AddErrors adds what is wrong with the files of a certificate to the errors of a configuration, whose fields are cert_file and key_file. Empty names
// are no certificate.
func (f Files) AddErrors(es *invalid.Errors, pkg, at string) {
	var wrong *FileError
	switch {
	case f == Files{}:
	case f.CertFile == "":
		es.Add(pkg, at+"cert_file", "missing beside key_file: a certificate and its key go together")
	case f.KeyFile == "":
		es.Add(pkg, at+"key_file", "missing beside cert_file: a certificate and its key go together")
	case errors.As(f.Check(), &wrong):
		es.Add(pkg, at+[...]string{Certificate: "cert_file", Key: "key_file"}[wrong.Role], "%s: %v", wrong.File, wrong.Err)
	}
}

// AddErrorsOfCA adds what is wrong with a file of CAs to the errors of a configuration, as one of field. An empty name is no file.
func AddErrorsOfCA(es *invalid.Errors, pkg, field, file string) {
	var wrong *FileError
	if file != "" && errors.As(CheckCA(file), &wrong) {
		es.Add(pkg, field, "%s: %v", file, wrong.Err)
	}
}

// sourceFiles are the files that are loaded together: a certificate and its key, or one CA file.
type sourceFiles struct{ cert, key, ca string }

func (f Files) source() sourceFiles    { return sourceFiles{cert: f.CertFile, key: f.KeyFile} }
func caSource(file string) sourceFiles { return sourceFiles{ca: file} }
func (f sourceFiles) isCA() bool       { return f.ca != "" }

func (f sourceFiles) paths() []string {
	if f.isCA() {
		return []string{f.ca}
	}
	return []string{f.cert, f.key}
}

// role returns the role of the file with index i in paths.
func (f sourceFiles) role(i int) Role {
	if f.isCA() {
		return CA
	}
	return Role(i)
}

// content is what was read from one file.
type content struct {
	data []byte
	mode fs.FileMode
	err  error
}

// read reads the files.
func read(f sourceFiles) []content {
	var all []content
	for _, path := range f.paths() {
		all = append(all, readFile(path))
	}
	return all
}

func readFile(path string) (c content) {
	defer func() {
		var wrapped *fs.PathError
		if errors.As(c.err, &wrapped) {
			c.err = wrapped.Err // FileError names the file
		}
	}()
	info, err := os.Stat(path)
	if err != nil {
		return content{err: err}
	}
	if !info.Mode().IsRegular() { // opening a pipe would block
		return content{err: errors.New("not a regular file")}
	}
	file, err := os.Open(path)
	if err != nil {
		return content{err: err}
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = fmt.Errorf("larger than %d MiB", maxFile>>20)
	}
	return content{data: data, mode: info.Mode(), err: err}
}

// material is the content of the files of a source.
type material struct {
	cert     *tls.Certificate // nil for a CA file
	pool     *x509.CertPool   // nil for a certificate
	notAfter time.Time        // the first expiry of the certificates
	warnings []string
}

// load parses what was read from the files.
func load(f sourceFiles, from []content) (*material, error) {
	for i, c := range from {
		if c.err != nil {
			return nil, &FileError{f.role(i), f.paths()[i], c.err}
		}
	}
	if f.isCA() {
		return loadCA(f.ca, from[0])
	}
	return loadPair(f, from[0], from[1])
}

func loadPair(f sourceFiles, cert, key content) (*material, error) {
	list, err := parseCertificates(Certificate, f.cert, cert.data)
	if err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair(cert.data, key.data)
	if err != nil {
		return nil, &FileError{Key, f.key, keyError(f.cert, key.data, err)}
	}
	m := &material{cert: &pair}
	m.checkTime(list)
	if runtime.GOOS != "windows" && key.mode.Perm()&0o007 != 0 {
		m.warnings = append(m.warnings, fmt.Sprintf("%s may be read by every user (%v): chmod 640 it", f.key, key.mode.Perm()))
	}
	return m, nil
}

// keyError explains why a key cannot be used with a valid certificate.
func keyError(certFile string, data []byte, err error) error {
	block, _ := pem.Decode(data)
	switch {
	case block == nil:
		return errors.New("holds no private key in PEM")
	case block.Type == "CERTIFICATE" && !strings.Contains(string(data), "PRIVATE KEY-----"):
		return errors.New("holds no private key in PEM, but a certificate")
	case strings.HasPrefix(block.Type, "ENCRYPTED") || block.Headers["DEK-Info"] != "":
		return errors.New("the key has a passphrase: store it without one, readable only for the user of ferry")
	case strings.Contains(err.Error(), "does not match"):
		return fmt.Errorf("the key does not belong to the first certificate in %s", certFile)
	}
	return errors.New("holds no key that TLS can use: write an ECDSA, Ed25519 or RSA key in PEM")
}

func loadCA(path string, c content) (*material, error) {
	list, err := parseCertificates(CA, path, c.data)
	if err != nil {
		return nil, err
	}
	m := &material{pool: x509.NewCertPool()}
	for _, each := range list {
		m.pool.AddCert(each)
	}
	m.checkTime(list)
	return m, nil
}

// parseCertificates returns all certificates in data, at least one.
func parseCertificates(role Role, path string, data []byte) (list []*x509.Certificate, err error) {
	others := ""
	for rest := data; ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			if strings.HasSuffix(block.Type, "PRIVATE KEY") {
				others = ", but a private key: the names of the files may be swapped"
			}
			continue
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, &FileError{role, path, fmt.Errorf("certificate %d: %w", len(list)+1, err)}
		}
		list = append(list, cert)
	}
	if len(list) == 0 {
		return nil, &FileError{role, path, errors.New("holds no certificate in PEM" + others)}
	}
	return list, nil
}

// checkTime sets notAfter and warns about certificates that are not valid now.
func (m *material) checkTime(list []*x509.Certificate) {
	now := time.Now()
	for _, c := range list {
		if m.notAfter.IsZero() || c.NotAfter.Before(m.notAfter) {
			m.notAfter = c.NotAfter
		}
		if warning := timeWarning(c, now, 0); warning != "" {
			m.warnings = append(m.warnings, warning)
		}
	}
}

// timeWarning returns why c is not valid now, or that it expires within a time; empty if neither applies.
func timeWarning(c *x509.Certificate, now time.Time, within time.Duration) string {
	switch left := c.NotAfter.Sub(now); {
	case left < 0:
		return fmt.Sprintf("certificate %q has expired on %s", c.Subject, c.NotAfter.UTC().Format(time.RFC3339))
	case now.Before(c.NotBefore):
		return fmt.Sprintf("certificate %q is not valid before %s", c.Subject, c.NotBefore.UTC().Format(time.RFC3339))
	case left < within:
		return fmt.Sprintf("certificate %q expires in %s, on %s", c.Subject, remaining(left), c.NotAfter.UTC().Format(time.RFC3339))
	}
	return ""
}

// remaining returns d in days, or in hours if it is less than two days.
func remaining(d time.Duration) string {
	const day = 24 * time.Hour
	if d < 2*day {
		return fmt.Sprintf("%d h", int(d.Hours()))
	}
	return fmt.Sprintf("%d days", d/day)
}

// Certificates returns the certificates in a PEM file, at least one. The error is a *FileError.
func Certificates(file string) ([]*x509.Certificate, error) {
	c := readFile(file)
	if c.err != nil {
		return nil, &FileError{Certificate, file, c.err}
	}
	return parseCertificates(Certificate, file, c.data)
}

// TimeWarnings reads the certificates in a PEM file and returns a text for each one that is not valid at now or expires within a
// time. The error is a *FileError.
func TimeWarnings(file string, now time.Time, within time.Duration) (warnings []string, err error) {
	list, err := Certificates(file)
	if err != nil {
		return nil, err
	}
	for _, each := range list {
		if warning := timeWarning(each, now, within); warning != "" {
			warnings = append(warnings, warning)
		}
	}
	return warnings, nil
}

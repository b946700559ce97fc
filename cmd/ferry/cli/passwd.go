package cli

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/charmbracelet/x/term"

	"example.com/ferry/internal/atomicfile"
	"example.com/ferry/internal/password"
	"example.com/ferry/internal/regularfile"
)

type passwdCmd struct {
	File   string `arg:"" optional:"" help:"The password_file to change; it is made if it is missing. Without one, the hash is printed, for password of an identity."`
	User   string `arg:"" optional:"" help:"The user in the file."`
	Delete bool   `short:"D" help:"Remove the user from the file."`
}

// Help returns the part of ferry passwd --help that is not in the grammar.
func (*passwdCmd) Help() string {
	return `It reads a password of any length, from the terminal or as the first line of standard input, and writes its hash by argon2id. A node reads a changed file within a few seconds. Files of mosquitto_passwd can be changed, too.

Examples:

    ferry passwd users.txt pump-1
    echo "$PASSWORD" | ferry passwd users.txt pump-1
    ferry passwd --delete users.txt pump-1
    ferry passwd                                # prints a hash`
}

// Run hashes a password.
func (c *passwdCmd) Run(e *env) error {
	switch {
	case c.File != "" && c.User == "":
		return usageError{errors.New("name the user: ferry passwd FILE USER")}
	case c.Delete && c.File == "":
		return usageError{errors.New("--delete needs a file and a user: ferry passwd --delete FILE USER")}
	case strings.ContainsAny(c.User, ":\r\n"):
		return usageError{fmt.Errorf("user %q: a name in a password file has neither colons nor line breaks", c.User)}
	}
	var hash password.Hash
	if !c.Delete {
		secret, err := e.readPassword()
		if err != nil {
			return err
		}
		if hash, err = password.New(secret); err != nil {
			return err
		}
	}
	if c.File == "" {
		return e.print([]byte(hash + "\n"))
	}
	data, err := regularfile.Read(c.File, password.MaxFile)
	mode := fs.FileMode(0o600)
	if info, statErr := os.Stat(c.File); statErr == nil {
		mode = info.Mode().Perm()
	}
	if err != nil && (c.Delete || !errors.Is(err, fs.ErrNotExist)) {
		return err
	}
	changed, found := password.Set(data, c.User, hash)
	if c.Delete && !found {
		return fmt.Errorf("%s has no user %q", c.File, c.User)
	}
	if _, err := password.ParseFile(changed); err != nil {
		return fmt.Errorf("%s: %w", c.File, err)
	}
	return atomicfile.Write(c.File, changed, mode)
}

// readPassword reads a password: twice and unseen from a terminal, or the first line of standard input.
func (e *env) readPassword() ([]byte, error) {
	f, ok := e.stdin.(*os.File)
	if !ok || !term.IsTerminal(f.Fd()) {
		line, err := bufio.NewReaderSize(io.LimitReader(e.stdin, 128<<10), 4<<10).ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		return bytes.TrimRight(line, "\r\n"), nil
	}
	var typed [2][]byte
	for i, prompt := range []string{"password: ", "again: "} {
		fmt.Fprint(e.stderr, prompt)
		p, err := term.ReadPassword(f.Fd())
		fmt.Fprintln(e.stderr)
		if err != nil {
			return nil, err
		}
		typed[i] = p
	}
	if !bytes.Equal(typed[0], typed[1]) {
		return nil, errors.New("the two passwords differ")
	}
	return typed[0], nil
}

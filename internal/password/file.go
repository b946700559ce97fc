package password

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
)

// MaxFile bounds a file of passwords, in bytes.
const MaxFile = 16 << 20

// User is a line of a file of passwords.
type User struct {
	Name string
	Hash Hash
}

// ParseFile reads a file with a line USER:HASH for each user, as mosquitto_passwd and ferry passwd write it. Empty lines, and lines that begin with #, say
// nothing. No error shows a hash.
func ParseFile(data []byte) ([]User, error) {
	var users []User
	lines := map[string]int{}
	for i, line := range strings.Split(string(data), "\n") {
		line = strings.TrimSuffix(line, "\r")
		if strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#") {
			continue
		}
		at := i + 1
		name, hash, ok := strings.Cut(line, ":")
		switch {
		case !ok || name == "" || strings.ContainsFunc(name, unicode.IsControl):
			return nil, fmt.Errorf("line %d: want USER:HASH", at)
		case lines[name] > 0:
			return nil, fmt.Errorf("line %d: user %q is in line %d, too", at, name, lines[name])
		}
		if err := Hash(hash).Check(); err != nil {
			return nil, fmt.Errorf("line %d: user %q: %w", at, name, err)
		}
		lines[name] = at
		users = append(users, User{name, Hash(hash)})
	}
	return users, nil
}

// Set returns the file with the hash of a user, behind the others, and without the one that it had. An empty hash removes the user. Other lines stay as they are.
func Set(data []byte, user string, hash Hash) (changed []byte, found bool) {
	for line := range bytes.Lines(data) {
		if name, _, ok := bytes.Cut(line, []byte(":")); ok && string(name) == user {
			found = true
			continue
		}
		changed = append(changed, line...)
	}
	if hash == "" {
		return changed, found
	}
	if len(changed) > 0 && changed[len(changed)-1] != '\n' {
		changed = append(changed, '\n')
	}
	return append(changed, user+":"+string(hash)+"\n"...), found
}

package config

import (
	"fmt"
	"slices"

	"example.com/ferry/internal/password"
	"example.com/ferry/internal/regularfile"
)

// Logins are the users of mqtt.password_file and the grants of mqtt.acl_file.
type Logins struct {
	Users []password.User
	ACL   password.ACL

	hashes map[string]password.Hash
}

// Logins reads the files of users. field is the one that an error is about.
func (m MQTT) Logins() (l *Logins, field string, err error) {
	l = &Logins{hashes: map[string]password.Hash{}}
	if m.PasswordFile != "" {
		data, err := regularfile.Read(m.PasswordFile, password.MaxFile)
		if err != nil {
			return l, "mqtt.password_file", err
		}
		if l.Users, err = password.ParseFile(data); err != nil {
			return l, "mqtt.password_file", fmt.Errorf("%s: %w", m.PasswordFile, err)
		}
		for _, u := range l.Users {
			l.hashes[u.Name] = u.Hash
		}
	}
	if m.ACLFile != "" {
		data, err := regularfile.Read(m.ACLFile, password.MaxFile)
		if err != nil {
			return l, "mqtt.acl_file", err
		}
		if l.ACL, err = password.ParseACL(data); err != nil {
			return l, "mqtt.acl_file", fmt.Errorf("%s: %w", m.ACLFile, err)
		}
	}
	return l, "", nil
}

// hash returns the hash of a user of the file, or "".
func (l *Logins) hash(user string) password.Hash { return l.hashes[user] }

// Named returns what the files add to an identity: a hash of its password, and grants. open says that clients without a credential have the identity.
func (l *Logins) Named(id Identity, open bool) (hash password.Hash, more password.Grants) {
	if hash = password.Hash(id.Password); hash == "" {
		hash = l.hash(id.Name)
	}
	switch {
	case open:
		return "", l.ACL.Open
	case hash == "":
		return "", password.Grants{}
	}
	return hash, l.ACL.Of(id.Name)
}

// ContentFiles returns the files that the configuration names and whose content is a part of it: of tokens, of the users of mqtt, and of error pages.
func (c *Config) ContentFiles() []string {
	files := append(c.TokenFiles(), c.MQTT.PasswordFile, c.MQTT.ACLFile)
	if c.Proxy != nil {
		files = append(files, c.Proxy.ErrorPageFiles()...)
	}
	return slices.DeleteFunc(files, func(file string) bool { return file == "" })
}

// checkLogins reads the files of users, and checks that each user has grants.
func (c *Config) checkLogins(errs *configErrors) *Logins {
	l, field, err := c.MQTT.Logins()
	if err != nil {
		errs.add(field, "%v", err)
		return l
	}
	for _, u := range l.Users {
		if u.Name == "local" || u.Name == "deployed" {
			errs.add("mqtt.password_file", "user %q: the node has an identity of this name: choose another one", u.Name)
			return l
		}
		if c.MQTT.ACLFile == "" && !slices.ContainsFunc(c.Identities, func(id Identity) bool { return id.Name == u.Name }) {
			errs.add("mqtt.password_file", "user %q has no grants: name it in identities, or give mqtt.acl_file, where a line topic # grants everything", u.Name)
			return l
		}
	}
	return l
}

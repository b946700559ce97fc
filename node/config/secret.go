package config

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/goccy/go-yaml/ast"
)

// redacted stands for a secret.
const redacted = "[redacted]"

// secretName and placeName match the names of environment variables whose values are secrets, and of those that say where a secret is.
var (
	secretName = regexp.MustCompile(`(?i)token|secret|passw|passphrase|_pass$|credential|authorization|cookie|api_?key|private_?key|access_?key`)
	placeName  = regexp.MustCompile(`(?i)_(file|path|dir|host|port)$`)
)

// secretVariable reports whether the name of an environment variable says that its value is a secret.
func secretVariable(name string) bool {
	return secretName.MatchString(name) && !placeName.MatchString(name)
}

// secretFields returns the fields whose values are secrets because of where the file has them from: of ${file:PATH}, and of variables with
// such names as DB_PASSWORD.
func (s *Source) secretFields() map[string]bool {
	if len(s.secretNodes) == 0 {
		return nil
	}
	fields := map[string]bool{}
	var walk func(n ast.Node, path []string)
	walk = func(n ast.Node, path []string) {
		n = plain(n)
		if s.secretNodes[n] {
			fields[dotted(path)] = true
			return
		}
		if l := list(n); l != nil {
			for i, each := range l.Values {
				walk(each, append(slices.Clone(path), strconv.Itoa(i)))
			}
		}
		for _, kv := range pairs(n) {
			if name := kv.Key.GetToken().Value; name == "<<" {
				walk(kv.Value, path)
			} else {
				walk(kv.Value, append(slices.Clone(path), name))
			}
		}
	}
	walk(s.root, nil)
	return fields
}

// shortSecret is the length below which a secret is not searched for in the errors of other fields: it would be found everywhere.
const shortSecret = 6

// masked returns errors without the secrets of the source.
func (s *Source) masked(errs Errors) Errors {
	if len(s.secrets) == 0 {
		return errs
	}
	fields := s.secretFields()
	for _, e := range errs {
		if isSecret(fields, e.Field) && slices.ContainsFunc(s.secrets, func(secret string) bool { return shares(e.Reason, secret) }) {
			e.Reason = "this value is not valid: it is a secret, and not shown"
		} else {
			e.Reason = s.Hide(e.Reason)
		}
	}
	return errs
}

// Hide returns the text of an error without the secrets of the source.
func (s *Source) Hide(text string) string {
	for _, secret := range s.secrets {
		if len(secret) >= shortSecret {
			quoted := strconv.Quote(secret)
			text = strings.NewReplacer(secret, redacted, quoted[1:len(quoted)-1], redacted).Replace(text)
		}
	}
	return text
}

// isSecret reports whether a field, or one that encloses it, is one of fields.
func isSecret(fields map[string]bool, field string) bool {
	for len(field) > 0 {
		if fields[field] {
			return true
		}
		field = field[:max(strings.LastIndexAny(field, ".["), 0)]
	}
	return false
}

// shares reports whether a word of the secret stands in text.
func shares(text, secret string) bool {
	return slices.ContainsFunc(strings.FieldsFunc(secret, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }),
		func(word string) bool { return strings.Contains(text, word) })
}

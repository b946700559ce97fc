package nats

import (
	"fmt"
	"strings"

	"example.com/ferry/internal/topic"
)

// subjectPrefix keeps the subjects of ferry apart from all others of an account.
const subjectPrefix = "ferry."

// appendSubject appends the subject of a tag. The mapping is that of the MQTT listener of nats-server: '.' separates levels, an
// empty level is "/", and a '.' within a level is "//". In addition, characters that the MQTT listener refuses, or that NATS may
// take for wildcards, become '/' and a second character. The MQTT mapping produces no such pair:
//
//	' '     "/_"
//	'*'     "/s"
//	'>'     "/g"
//	U+FFFD  "/?"
func appendSubject(dst []byte, tag string) []byte {
	dst = append(dst, subjectPrefix...)
	for more := true; more; {
		var level string
		level, tag, more = strings.Cut(tag, "/")
		dst = appendLevel(dst, level)
		if more {
			dst = append(dst, '.')
		}
	}
	return dst
}

func appendLevel(dst []byte, level string) []byte {
	if level == "" {
		return append(dst, '/')
	}
	for i := 0; i < len(level); i++ {
		switch c := level[i]; {
		case c == '.':
			dst = append(dst, "//"...)
		case c == ' ':
			dst = append(dst, "/_"...)
		case c == '*':
			dst = append(dst, "/s"...)
		case c == '>':
			dst = append(dst, "/g"...)
		case c == 0xEF && strings.HasPrefix(level[i:], "\uFFFD"): // nats-server refuses U+FFFD in the subjects of a stream
			dst = append(dst, "/?"...)
			i += len("\uFFFD") - 1
		default:
			dst = append(dst, c)
		}
	}
	return dst
}

func subjectOf(tag string) string { return string(appendSubject(nil, tag)) }

// tagOf returns the tag of a subject. Other NATS clients can publish on subjects that are no tag's, for example with a '+'.
// The error then says why.
func tagOf(subject string) (string, error) {
	rest, ok := strings.CutPrefix(subject, subjectPrefix)
	if !ok {
		return "", fmt.Errorf("subject %.200q does not begin with %q", subject, subjectPrefix)
	}
	tag := rest
	if strings.ContainsAny(rest, "./") {
		tag = string(appendTag(make([]byte, 0, len(rest)), rest))
	}
	if err := topic.CheckTag(tag); err != nil {
		return "", fmt.Errorf("the tag of subject %.200q: %w", subject, err)
	}
	return tag, nil
}

func appendTag(dst []byte, subject string) []byte {
	for i := 0; i < len(subject); i++ {
		switch c := subject[i]; c {
		case '.':
			dst = append(dst, '/')
		case '/':
			if i+1 == len(subject) || subject[i+1] == '.' {
				continue // an empty level
			}
			i++
			switch subject[i] {
			case '/':
				dst = append(dst, '.')
			case '_':
				dst = append(dst, ' ')
			case '?':
				dst = append(dst, "\uFFFD"...)
			case 's':
				dst = append(dst, '*')
			case 'g':
				dst = append(dst, '>')
			default: // nats-server drops the slash, too
				dst = append(dst, subject[i])
			}
		default:
			dst = append(dst, c)
		}
	}
	return dst
}

// filterSubjects returns the subjects that match the same tags as filter: two if it ends in "/#", because # also matches the
// level above.
func filterSubjects(filter string) []string {
	dst := []byte(subjectPrefix)
	for more := true; more; {
		var level string
		level, filter, more = strings.Cut(filter, "/")
		switch level {
		case "#":
			all := string(dst) + ">"
			if len(dst) == len(subjectPrefix) {
				return []string{all}
			}
			return []string{string(dst[:len(dst)-1]), all}
		case "+":
			dst = append(dst, '*')
		default:
			dst = appendLevel(dst, level)
		}
		if more {
			dst = append(dst, '.')
		}
	}
	return []string{string(dst)}
}

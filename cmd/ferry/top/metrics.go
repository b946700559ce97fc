package top

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
)

// readMetrics reads the traffic of tags from a response of /metrics.
func (s *Sample) readMetrics(text []byte) {
	tags := map[string]*Tag{}
	for line := range bytes.Lines(text) {
		name, labels, value, ok := parseMetric(string(line))
		if !ok {
			continue
		}
		switch name {
		case "ferry_connections": // a node with a listener for messages has it
			s.Tags = []Tag{}
		case "ferry_messages_total", "ferry_bytes_total":
			t := tags[labels["tag"]]
			if t == nil {
				t = &Tag{Name: labels["tag"]}
				tags[t.Name] = t
			}
			t.add(name, labels["dir"], uint64(value))
		}
	}
	for _, t := range tags {
		s.Tags = append(s.Tags, *t)
	}
	slices.SortFunc(s.Tags, func(a, b Tag) int { return strings.Compare(a.Name, b.Name) })
}

func (t *Tag) add(metric, dir string, n uint64) {
	traffic := &t.In
	if dir == "out" {
		traffic = &t.Out
	}
	if metric == "ferry_messages_total" {
		traffic.Messages += n
	} else {
		traffic.Bytes += n
	}
}

// parseMetric parses a line of Prometheus's text format: name{label="value",...} value. ok is false for comments and other lines.
func parseMetric(line string) (name string, labels map[string]string, value float64, ok bool) {
	end := strings.IndexAny(line, "{ ")
	if end <= 0 || line[0] == '#' {
		return "", nil, 0, false
	}
	name, rest := line[:end], line[end:]
	if rest[0] == '{' {
		if labels, rest, ok = parseLabels(rest[1:]); !ok {
			return "", nil, 0, false
		}
	}
	fields := strings.Fields(rest) // the value, and perhaps a time
	if len(fields) == 0 {
		return "", nil, 0, false
	}
	value, err := strconv.ParseFloat(fields[0], 64)
	return name, labels, value, err == nil
}

// parseLabels parses label="value",...} and returns what is behind it.
func parseLabels(text string) (labels map[string]string, rest string, ok bool) {
	labels = map[string]string{}
	for {
		if after, found := strings.CutPrefix(text, "}"); found {
			return labels, after, true
		}
		name, quoted, found := strings.Cut(text, `="`)
		if !found {
			return nil, "", false
		}
		value, after, found := unquote(quoted)
		if !found {
			return nil, "", false
		}
		labels[name], text = value, strings.TrimPrefix(after, ",")
	}
}

// unquote returns the text up to the closing quote, without its escapes, and what is behind it.
func unquote(text string) (value, rest string, ok bool) {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			return b.String(), text[i+1:], true
		case c == '\\' && i+1 < len(text):
			i++
			if text[i] == 'n' {
				b.WriteByte('\n')
			} else {
				b.WriteByte(text[i])
			}
		default:
			b.WriteByte(c)
		}
	}
	return "", "", false
}

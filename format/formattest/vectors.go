package formattest

import (
	"bytes"
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/ferry/format"
)

var update = flag.Bool("update", false, "write testdata/vectors anew with what the format does now")

// vector is one block of a vector file. A block that is only a comment has nil data.
type vector struct {
	name string
	file string
	head []string // lines before the dashes
	data []byte
	want string
}

// loadVectors reads testdata/vectors/NAME/*.txt if there are such files, and testdata/vectors/*.txt otherwise. name is
// the format's name.
func loadVectors(t testing.TB, name string) []vector {
	t.Helper()
	var files []string
	for _, pattern := range []string{"testdata/vectors/" + name + "/*.txt", "testdata/vectors/*.txt"} {
		var err error
		if files, err = filepath.Glob(pattern); err != nil {
			t.Fatal(err)
		}
		if len(files) > 0 {
			break
		}
	}
	var all []vector
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		blocks, err := parseVectors(file, string(text))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, blocks...)
	}
	return all
}

// VectorInputs returns the inputs of the vectors that Run uses for the format with this name. They are seeds for a fuzz
// target.
func VectorInputs(t testing.TB, name string) [][]byte {
	t.Helper()
	var inputs [][]byte
	for _, v := range loadVectors(t, name) {
		if v.data != nil {
			inputs = append(inputs, v.data)
		}
	}
	if len(inputs) == 0 {
		t.Fatal("formattest: no vectors in testdata/vectors")
	}
	return inputs
}

// parseVectors returns the blocks of a vector file. A block that is only a comment has nil data.
func parseVectors(file, text string) ([]vector, error) {
	var all []vector
	for block := range strings.SplitSeq(strings.Trim(text, "\n"), "\n\n") {
		v := vector{file: file, name: fmt.Sprintf("%s#%d", filepath.Base(file), len(all))}
		lines := strings.Split(strings.Trim(block, "\n"), "\n")
		for i, line := range lines {
			if strings.HasPrefix(line, "---") {
				v.want = strings.Join(lines[i+1:], "\n") + "\n"
				if v.data == nil {
					v.data = []byte{}
				}
				break
			}
			v.head = append(v.head, line)
			part, err := parseInput(line)
			if err != nil {
				return nil, fmt.Errorf("%s: block %q: %w", file, v.head[0], err)
			}
			v.data = append(v.data, part...)
		}
		if len(v.head) > 0 && strings.HasPrefix(v.head[0], "#") {
			v.name = strings.TrimSpace(v.head[0][1:])
		}
		all = append(all, v)
	}
	return all, nil
}

func parseInput(line string) ([]byte, error) {
	if text, ok := strings.CutPrefix(line, "|"); ok {
		return []byte(text), nil
	}
	digits, _, _ := strings.Cut(line, "#")
	return hex.DecodeString(strings.Join(strings.Fields(digits), ""))
}

func runVectors(t *testing.T, f format.Format, vectors []vector) {
	files := map[string]*bytes.Buffer{}
	for _, v := range vectors {
		b := files[v.file]
		if b == nil {
			b = new(bytes.Buffer)
			files[v.file] = b
		} else {
			b.WriteByte('\n')
		}
		b.WriteString(strings.Join(v.head, "\n") + "\n")
		if v.data == nil {
			continue
		}
		got := describeOutcome(f, v.data)
		b.WriteString("---\n" + got)
		if got != v.want && !*update {
			t.Errorf("%s, %s: got\n%swant\n%s", v.file, v.name, got, v.want)
		}
	}
	if !*update {
		return
	}
	for name, b := range files {
		if err := os.WriteFile(name, b.Bytes(), 0o644); err != nil {
			t.Error(err)
		}
	}
}

func describeOutcome(f format.Format, data []byte) string {
	if err := f.Validate(data, format.Options{}); err != nil {
		return "error: " + err.Error() + "\n"
	}
	items, err := walk(f, data)
	if err != nil {
		return "walk error: " + err.Error() + "\n"
	}
	return describeItems(f, data, items)
}

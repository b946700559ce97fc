package harness

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// WriteFiles writes the result as NAME.json, NAME.md and NAME.svg to dir, and each chart as NAME-CHART.svg. If dir has a result
// of this question from another CPU model, NAME is the question's name and the CPU model's, "proxy_http1@intel-xeon", and so
// both results stay.
func (r *Result) WriteFiles(dir string) error {
	name, err := r.fileName(dir)
	if err != nil {
		return err
	}
	doc, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("harness: %s: %w", r.Question, err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("harness: %w", err)
	}
	files := map[string]string{".json": string(doc) + "\n", ".md": r.Markdown(), ".svg": r.SVG()}
	for _, c := range r.Charts {
		files["-"+c.Name+".svg"] = r.ChartSVG(&c)
	}
	for ext, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name+ext), []byte(text), 0o644); err != nil {
			return fmt.Errorf("harness: %w", err)
		}
	}
	return nil
}

// fileName returns the name of the result's files in dir, without extension.
func (r *Result) fileName(dir string) (string, error) {
	text, err := os.ReadFile(filepath.Join(dir, r.Question+".json"))
	if os.IsNotExist(err) {
		return r.Question, nil
	}
	if err != nil {
		return "", fmt.Errorf("harness: %w", err)
	}
	first, err := ParseResult(text)
	if err != nil {
		return "", fmt.Errorf("harness: %s: %w", r.Question, err)
	}
	if sameCPU(first.Machine.CPU, r.Machine.CPU) {
		return r.Question, nil
	}
	return r.Question + "@" + slug(r.Machine.CPU), nil
}

// ReadResults reads all results in dir (*.json), sorted by name. Results of one question from several CPU models are neighbors.
func ReadResults(dir string) ([]*Result, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return nil, fmt.Errorf("harness: %w", err)
	}
	var all []*Result
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("harness: %w", err)
		}
		r, err := ParseResult(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		r.File = strings.TrimSuffix(filepath.Base(file), ".json")
		all = append(all, r)
	}
	return all, nil
}

// ParseResult decodes a JSON file that WriteFiles wrote.
func ParseResult(text []byte) (*Result, error) {
	r := new(Result)
	if err := json.Unmarshal(text, r); err != nil {
		return nil, fmt.Errorf("harness: not a result: %w", err)
	}
	return r, nil
}

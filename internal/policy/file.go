package policy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/redoubt/redoubt/internal/model"
)

// File is a file of rules that somebody hands in.
type File struct {
	Name string
	Text []byte
}

// MaxGathered is how many rules Gather takes at once: while they are stored, others wait to write.
const MaxGathered = 300

// Gather reads the rules of files for one product. All faults come back at once as a
// *model.InvalidError, each with its file in front. The same rule twice is one; two
// different ones of one id are a fault, and so are more than MaxGathered.
func Gather(product model.IssueType, files ...File) ([]Rule, error) {
	var rules []Rule
	var bad model.InvalidError
	from, at := map[string]string{}, map[string]int{}
	for _, file := range files {
		fault := func(location, format string, args ...any) {
			if len(bad.Fields) > maxFaults {
				return
			}
			bad.Fields = append(bad.Fields, model.FieldError{
				Location: file.Name + ": " + location,
				Message:  fmt.Sprintf(format, args...),
			})
		}
		parsed, err := ParseValid(file.Text)
		var invalid *model.InvalidError
		switch {
		case errors.As(err, &invalid):
			for _, f := range invalid.Fields {
				fault(f.Location, "%s", f.Message)
			}
		case err != nil:
			return nil, err
		}
		for _, r := range parsed {
			other, twice := from[r.ID]
			switch {
			case r.Product != product:
				fault(r.ID, "is a rule for %s, and this policy is for %s", r.Product, product)
			case !twice:
				from[r.ID], at[r.ID] = file.Name, len(rules)
				rules = append(rules, r)
			case !bytes.Equal(rules[at[r.ID]].Text, r.Text):
				fault(r.ID, "is another rule in %s", other)
			}
		}
	}
	if len(rules) > MaxGathered {
		bad.Fields = append(bad.Fields, model.FieldError{Location: "rules", Message: fmt.Sprintf(
			"are %d: at most %d go in at once; send them in parts, or use redoubt policies add-rules", len(rules), MaxGathered,
		)})
	}
	if len(bad.Fields) > 0 {
		return nil, &bad
	}
	return slices.Clip(rules), nil
}

// YAML is the text of a rule, as it is stored, as a file of rules in YAML.
func YAML(text []byte) ([]byte, error) {
	var rule map[string]any
	if err := json.Unmarshal(text, &rule); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	enc := yaml.NewEncoder(&out)
	enc.SetIndent(2)
	err := errors.Join(enc.Encode(map[string]any{"rules": []any{rule}}), enc.Close())
	return out.Bytes(), err
}

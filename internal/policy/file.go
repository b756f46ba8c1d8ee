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

// File is an uploaded file of rules.
type File struct {
	Name string
	Text []byte
}

// MaxGathered is the maximum number of rules in a call of Gather. Storing them blocks other
// writers.
const MaxGathered = 300

// Gather parses the rules of files for one product. It returns all errors in a *model.InvalidError,
// with the file names. Equal rules are merged. Different rules with the same ID and more than
// MaxGathered rules are errors.
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
				fault(r.ID, "is a rule for %s, but the policy is for %s", r.Product, product)
			case !twice:
				from[r.ID], at[r.ID] = file.Name, len(rules)
				rules = append(rules, r)
			case !bytes.Equal(rules[at[r.ID]].Text, r.Text):
				fault(r.ID, "differs from the rule in %s", other)
			}
		}
	}
	if len(rules) > MaxGathered {
		bad.Fields = append(bad.Fields, model.FieldError{Location: "rules", Message: fmt.Sprintf(
			"there are %d; the limit is %d: send parts, or use redoubt policies add-rules", len(rules), MaxGathered,
		)})
	}
	if len(bad.Fields) > 0 {
		return nil, &bad
	}
	return slices.Clip(rules), nil
}

// YAML converts the stored text of a rule to a YAML file of rules.
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

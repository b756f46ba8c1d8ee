package core

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/redoubt/redoubt/api"
)

// Clients of the hosted service send values that the contract rejects. In the hosted dialect only,
// they are converted to valid ones: page sizes, spaces, and words and members that have no
// equivalent here.

// sizes are the parameters and members that limit the size of a list.
var sizes = []string{"page", "page_size", "pageSize", "limit"}

// foreignPaging are paging members of other APIs. The reads of pagedBodies ignore those that they
// do not define: they select nothing.
var (
	foreignPaging = []string{"page", "limit", "offset"}
	pagedBodies   = []string{"listDependencies", "listDependencyRepositories", "listLockfiles", "searchScans", "listVulns"}
)

// unheld are filter values of the hosted service without an equivalent here, by operation and
// member. A filter of such values alone selects nothing.
var unheld = map[[2]string][]string{
	{"listFindings", "status"}:         {"provisionally_ignored", "removed"},
	{"listFindings", "triage_reasons"}: {"duplicate"},
	{"listSecrets", "status"}:          {"FINDING_STATUS_REMOVED", "FINDING_STATUS_UNKNOWN"},
	{"searchScans", "statuses"}:        {"SCAN_STATUS_PENDING", "SCAN_STATUS_CANCELLED"},
}

// unkept are members of dependencyFilter about data that is not stored here. The functions report
// whether a value selects nothing. No dependency belongs to archived projects only, and without a
// license policy all licenses are allowed.
var unkept = map[string]func(any) bool{
	"includearchived": func(v any) bool { return v == true },
	"licensepolicysettings": func(v any) bool {
		words := wordsOf(v)
		return len(words) > 0 && !slices.Contains(words, "LICENSE_POLICY_SETTING_ALLOW")
	},
}

// lenient returns a function that converts the parameters of a hosted client to the contract's. It
// returns nil in the contract's dialect.
func (c *Call) lenient(op *operation) func(url.Values) {
	if !c.Hosted() {
		return nil
	}
	return func(query url.Values) {
		for _, values := range query {
			for i := range values {
				values[i] = strings.TrimSpace(values[i])
			}
		}
		for _, d := range c.Server.spec.Differences {
			if d.Query != nil && d.Operation == op.described.OperationID {
				d.Query(c, query)
			}
		}
		for _, p := range op.described.Parameters {
			values := query[p.Name]
			if p.In != "query" || len(values) == 0 {
				continue
			}
			if slices.Contains(sizes, p.Name) {
				for i, text := range values {
					values[i] = clamped(text, p.Schema)
				}
				values = slices.DeleteFunc(values, func(text string) bool { return text == "" })
			}
			absent := unheld[[2]string{op.described.OperationID, p.Name}]
			enumeration := c.Server.spec.Resolve(cmp.Or(p.Schema.Items, p.Schema)).Enum
			foldWords(p.Name, values, append(wordsOf(enumeration), absent...))
			if absent != nil && len(values) > 0 {
				values = c.held(values, absent)
			}
			query[p.Name] = values
		}
	}
}

// foldWords replaces values that equal one of words except for case and spaces.
func foldWords(parameter string, values, words []string) {
	for i, value := range values {
		text := strings.Join(strings.Fields(value), "_")
		if parameter == "exposures" && strings.EqualFold(text, "no_reachability_analysis") {
			text = "unknown"
		}
		for _, word := range words {
			if strings.EqualFold(text, word) {
				values[i] = word
			}
		}
	}
}

// held returns the filter values of sent that are not in unheld.
func (c *Call) held(sent, unheld []string) []string {
	left := slices.DeleteFunc(slices.Clone(sent), func(word string) bool { return slices.Contains(unheld, word) })
	c.HostedQuery.Nothing = c.HostedQuery.Nothing || len(left) == 0
	return left
}

// clamped returns a number as text within the bounds of its schema. Zero and negative numbers
// become "", which means the default. Anything but a whole number is returned unchanged, and
// rejected later.
func clamped(text string, schema *huma.Schema) string {
	n, err := strconv.ParseInt(text, 10, 64)
	switch {
	case err != nil && !errors.Is(err, strconv.ErrRange):
		return text
	case n <= 0:
		return ""
	case schema.Maximum != nil && float64(n) > *schema.Maximum:
		n = int64(*schema.Maximum)
	case schema.Minimum != nil && float64(n) < *schema.Minimum:
		n = int64(*schema.Minimum)
	}
	return strconv.FormatInt(n, 10)
}

// lenientBody converts a body like lenient converts parameters.
func (c *Call) lenientBody(op *operation, body any) {
	members, ok := body.(map[string]any)
	if !c.Hosted() || !ok {
		return
	}
	for _, name := range sizes {
		schema, value := op.body.Properties[name], members[name]
		if schema == nil || schema.Type != huma.TypeInteger || value == nil {
			continue
		}
		text := clamped(strings.TrimSpace(fmt.Sprint(value)), schema)
		if text == "" {
			delete(members, name)
		} else if _, err := strconv.ParseInt(text, 10, 64); err == nil {
			members[name] = json.Number(text)
		}
	}
	for _, name := range foreignPaging {
		if slices.Contains(pagedBodies, op.described.OperationID) && op.body.Properties[name] == nil {
			delete(members, name)
		}
	}
	for name, value := range members {
		absent, words := unheld[[2]string{op.described.OperationID, name}], wordsOf(value)
		if absent == nil || len(words) == 0 {
			continue
		}
		if left := c.held(words, absent); len(left) > 0 {
			members[name] = left
		} else {
			delete(members, name)
		}
	}
	if filter, sent := members["dependencyFilter"].(map[string]any); sent &&
		op.body.Properties["dependencyFilter"] != nil {
		c.lenientFilter(filter)
	}
}

// lenientFilter removes filter members about data that is not stored here.
func (c *Call) lenientFilter(members map[string]any) {
	for name, value := range members {
		if empties := unkept[fold(name)]; empties != nil {
			c.HostedQuery.Nothing = c.HostedQuery.Nothing || empties(value)
			if fold(name) == "licensepolicysettings" {
				c.W.Header().Set(api.LicensePolicyHeader, "none")
			}
			delete(members, name)
		}
	}
}

// wordsOf reads a string or a list of strings. It returns nil for anything else.
func wordsOf(value any) (words []string) {
	if one, ok := value.(string); ok {
		return []string{one}
	}
	list, _ := value.([]any)
	for _, item := range list {
		word, ok := item.(string)
		if !ok {
			return nil
		}
		words = append(words, word)
	}
	return words
}

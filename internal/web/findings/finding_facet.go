package findings

import (
	"slices"
	"time"

	"github.com/redoubt/redoubt/internal/index"
	"github.com/redoubt/redoubt/internal/model"
)

// facet is a filter that the findings pages offer with counts.
type facet struct {
	key      index.Facet // also the parameter in the address
	label    string
	products model.Products
	order    []string // values of an enumeration in display order; other values are sorted by count
	single   bool     // at most one value
	folded   bool     // collapsed until it is used
	// set adds values to a filter and returns the invalid ones.
	set func(f *model.FindingFilter, values []string) (bad []string)
}

var (
	everything = model.Products(0).With(model.SAST).With(model.SCA).With(model.Secrets)
	code       = model.Products(0).With(model.SAST)
	supply     = model.Products(0).With(model.SCA)
	secrets    = model.Products(0).With(model.Secrets)
)

// facets lists the facets in display order.
var facets = []facet{
	{
		index.FacetStatus, "Status", everything,
		[]string{"open", "reviewing", "fixing", "ignored", "fixed"},
		false, false, enum(func(f *filter) *[]model.Status { return &f.Statuses }, model.ParseStatus),
	},
	{
		index.FacetSeverity, "Severity", everything,
		[]string{"critical", "high", "medium", "low"},
		false,
		false, enum(func(f *filter) *[]model.Severity { return &f.Severities }, model.ParseSeverity),
	},
	{index.FacetUnrated, "Rating", supply, []string{"true", "false"}, true, false, yesNo(func(f *filter) **bool {
		return &f.Unrated
	})},
	{index.FacetReachability, "Reachability", supply, []string{
		"always_reachable", "reachable", "conditionally_reachable", "unreachable", "unknown",
	}, false, false, enum(func(f *filter) *[]model.Reachability { return &f.Reachabilities }, model.ParseReachability)},
	{
		index.FacetEPSS, "Exploit probability", supply,
		[]string{"high", "medium", "low", "none"},
		false, false, enum(func(f *filter) *[]model.EPSSBand { return &f.EPSS }, model.ParseEPSSBand),
	},
	{index.FacetExploited, "Exploited", supply, []string{"true", "false"}, true, false, yesNo(func(f *filter) **bool {
		return &f.Exploited
	})},
	{
		index.FacetTransitivity, "Dependency", supply,
		[]string{"direct", "transitive", "unknown"},
		false,
		false, enum(func(f *filter) *[]model.Transitivity { return &f.Transitivities }, model.ParseTransitivity),
	},
	{index.FacetMalicious, "Malicious", supply, []string{"true", "false"}, true, true, yesNo(func(f *filter) **bool {
		return &f.Malicious
	})},
	{
		index.FacetValidation, "Validation", secrets,
		[]string{
			"confirmed_valid", "validation_error", "no_validator", "confirmed_invalid",
		},
		false, false,
		enum(func(f *filter) *[]model.ValidationState { return &f.ValidationStates }, model.ParseValidationState),
	},
	{index.FacetSecretType, "Secret type", secrets, nil, false, false, texts(func(f *filter) *[]string {
		return &f.SecretTypes
	})},
	{index.FacetIncludeHistory, "In history", secrets, []string{"false"}, true, true, history},
	{
		index.FacetConfidence, "Confidence", everything,
		[]string{"high", "medium", "low"},
		false,
		false, enum(func(f *filter) *[]model.Confidence { return &f.Confidences }, model.ParseConfidence),
	},
	{index.FacetProject, "Project", everything, nil, false, false, texts(func(f *filter) *[]string {
		return &f.Projects
	})},
	{index.FacetProjectTag, "Project tag", everything, nil, false, true, texts(func(f *filter) *[]string {
		return &f.ProjectTags
	})},
	{index.FacetRef, "Branch", everything, nil, true, false, oneRef},
	{index.FacetPackage, "Package", supply, nil, false, false, texts(func(f *filter) *[]string { return &f.Packages })},
	{index.FacetRule, "Rule", everything, nil, false, false, texts(func(f *filter) *[]string { return &f.Rules })},
	{index.FacetCategory, "Category", everything, nil, false, true, texts(func(f *filter) *[]string {
		return &f.Categories
	})},
	{index.FacetRuleset, "Ruleset", everything, nil, false, true, texts(func(f *filter) *[]string { return &f.Rulesets })},
	{
		index.FacetMode, "Mode", everything,
		[]string{"block", "comment", "monitor"},
		false,
		true, enum(func(f *filter) *[]model.PolicyMode { return &f.Modes }, parseMode),
	},
	{index.FacetReason, "Reason to ignore", everything, []string{
		"false_positive", "acceptable_risk", "no_time", "no_triage_reason",
	}, false, true, enum(func(f *filter) *[]model.TriageReason { return &f.TriageReasons }, model.ParseTriageReason)},
	{index.FacetAssignee, "Assignee", everything, nil, false, false, texts(func(f *filter) *[]string {
		return &f.Assignees
	})},
	{index.FacetDue, "Due", everything, dueOrder, false, false, due},
	{index.FacetEnds, "Decision expires", everything, []string{"7", "30", "any"}, true, true, ends},
	{
		index.FacetVerdict, "Assistant verdict", code,
		[]string{"true_positive", "false_positive"},
		false, true, enum(func(f *filter) *[]model.Verdict { return &f.Verdicts }, model.ParseVerdict),
	},
	{index.FacetComponent, "Component", everything, nil, false, true, texts(func(f *filter) *[]string {
		return &f.ComponentTags
	})},
	{index.FacetPR, "Fixing change request", everything, []string{"open", "merged"}, false, true, prStates},
	{
		index.FacetProOnly, "Needs the pro engine", code,
		[]string{"true", "false"},
		true, true, yesNo(func(f *filter) **bool { return &f.ProOnly }),
	},
	{
		index.FacetVisibility, "Repository", secrets,
		[]string{"public", "private", "unknown"},
		false,
		true, enum(func(f *filter) *[]model.Visibility { return &f.Visibilities }, model.ParseVisibility),
	},
}

type filter = model.FindingFilter

// enum returns a setter for a list of enumeration values.
func enum[T any](list func(*filter) *[]T, parse func(string) (T, bool)) func(*filter, []string) []string {
	return func(f *filter, values []string) (bad []string) {
		for _, text := range values {
			v, ok := parse(text)
			if !ok {
				bad = append(bad, text)
				continue
			}
			*list(f) = append(*list(f), v)
		}
		return bad
	}
}

// texts returns a setter for a list of names.
func texts(list func(*filter) *[]string) func(*filter, []string) []string {
	return func(f *filter, values []string) []string {
		*list(f) = values
		return nil
	}
}

// yesNo returns a setter for a boolean.
func yesNo(member func(*filter) **bool) func(*filter, []string) []string {
	return func(f *filter, values []string) []string {
		last := values[len(values)-1]
		if last != "true" && last != "false" {
			return []string{last}
		}
		yes := last == "true"
		*member(f) = &yes
		return nil
	}
}

// history excludes secrets that are only in the history. The filter has no other option.
func history(f *filter, values []string) []string {
	last := values[len(values)-1]
	if last != "true" && last != "false" {
		return []string{last}
	}
	f.ExcludeHistoric = last == "false"
	return nil
}

// ends only validates the values. The date is computed in readEnds.
func ends(_ *filter, values []string) (bad []string) {
	last := values[len(values)-1]
	if _, ok := index.EndsBy(last, time.Time{}); !ok {
		return []string{last}
	}
	return nil
}

// dueOrder lists the values of the due date facet.
var dueOrder = texted(model.DueWindows())

func texted[T ~string](list []T) (out []string) {
	for _, v := range list {
		out = append(out, string(v))
	}
	return out
}

// due only validates the values. The dates are computed from the time of the request.
func due(_ *filter, values []string) (bad []string) {
	for _, v := range values {
		if !slices.Contains(dueOrder, v) {
			bad = append(bad, v)
		}
	}
	return bad
}

func oneRef(f *filter, values []string) []string {
	if last := values[len(values)-1]; last != model.DefaultRefFilter {
		f.Ref = model.FullRef(last)
	}
	return nil
}

func prStates(f *filter, values []string) (bad []string) {
	for _, v := range values {
		if v != "open" && v != "merged" {
			bad = append(bad, v)
		}
	}
	f.PRStates = values
	return bad
}

// parseMode parses both spellings of a mode in the API contract.
func parseMode(s string) (model.PolicyMode, bool) {
	if m, ok := model.ParseRuleBoard(s); ok {
		return m, true
	}
	return model.ParsePolicyMode(s)
}

// facetsOf returns the facets of a product.
func facetsOf(t model.IssueType) []facet {
	return slices.DeleteFunc(slices.Clone(facets), func(f facet) bool { return !f.products.Has(t) })
}

package model

// IssueType says which product found a finding.
type IssueType uint8

// The issue types of the contract. Secrets are triaged like the others and
// listed apart.
const (
	SAST IssueType = iota + 1
	SCA
	Secrets
)

var issueTypes = enumNames[IssueType]{"", "sast", "sca", "secrets"}

// String returns the wire name: sast, sca or secrets.
func (t IssueType) String() string { return issueTypes.name(t) }

// ParseIssueType reads a wire name.
func ParseIssueType(s string) (IssueType, bool) { return issueTypes.parse(s) }

// Severity orders findings by the harm they may do (docs/reference/findings.md).
type Severity uint8

// Severities, mildest first.
const (
	SeverityLow Severity = iota + 1
	SeverityMedium
	SeverityHigh
	SeverityCritical
)

var severities = enumNames[Severity]{"", "low", "medium", "high", "critical"}

// String returns the wire name, lower case.
func (s Severity) String() string { return severities.name(s) }

// ParseSeverity reads a lower-case wire name.
func ParseSeverity(s string) (Severity, bool) { return severities.parse(s) }

// NotRated is what people read in place of the severity of a vulnerability that
// nobody rates: it counts as medium, and nobody said that it is.
const NotRated = "not rated"

// SeverityOfScore places a score from 0 to 10 as CVSS does: critical from 9, high
// from 7, medium from 4, else low (docs/reference/advisories.md).
func SeverityOfScore(score float64) Severity {
	switch {
	case score >= 9:
		return SeverityCritical
	case score >= 7:
		return SeverityHigh
	case score >= 4:
		return SeverityMedium
	}
	return SeverityLow
}

// Confidence says how sure the rule's author is of its matches.
type Confidence uint8

// Confidences, weakest first.
const (
	ConfidenceLow Confidence = iota + 1
	ConfidenceMedium
	ConfidenceHigh
)

var confidences = enumNames[Confidence]{"", "low", "medium", "high"}

// String returns the wire name, lower case.
func (c Confidence) String() string { return confidences.name(c) }

// ParseConfidence reads a lower-case wire name.
func ParseConfidence(s string) (Confidence, bool) { return confidences.parse(s) }

// Reachability says whether code of the project gets to the vulnerable part of
// a dependency. The contract calls the filter on it exposures.
type Reachability uint8

// Reachabilities of a supply-chain finding.
const (
	Reachable Reachability = iota + 1
	AlwaysReachable
	ConditionallyReachable
	Unreachable
	ReachabilityUnknown
)

var reachabilities = enumNames[Reachability]{
	"", "reachable", "always_reachable", "conditionally_reachable", "unreachable", "unknown",
}

// String returns the wire name.
func (r Reachability) String() string { return reachabilities.name(r) }

// ParseReachability reads a wire name.
func ParseReachability(s string) (Reachability, bool) { return reachabilities.parse(s) }

// Transitivity says whether the project asked for a dependency itself.
type Transitivity uint8

// Transitivities of a dependency.
const (
	Direct Transitivity = iota + 1
	Transitive
	TransitivityUnknown
)

var transitivities = enumNames[Transitivity]{"", "direct", "transitive", "unknown"}

// String returns the wire name.
func (t Transitivity) String() string { return transitivities.name(t) }

// ParseTransitivity reads a wire name.
func ParseTransitivity(s string) (Transitivity, bool) { return transitivities.parse(s) }

// ValidationState says whether a secret was tried against its provider.
type ValidationState uint8

// Validation states of a secret (docs/reference/triage.md).
const (
	NoValidator ValidationState = iota + 1
	ConfirmedValid
	ConfirmedInvalid
	ValidationError
)

var validationStates = enumNames[ValidationState]{
	"", "no_validator", "confirmed_valid", "confirmed_invalid", "validation_error",
}

// String returns the wire name of the triage filter, as confirmed_valid.
func (v ValidationState) String() string { return validationStates.name(v) }

// ParseValidationState reads a wire name; valid and invalid are short forms.
func ParseValidationState(s string) (ValidationState, bool) {
	switch s {
	case "valid":
		return ConfirmedValid, true
	case "invalid":
		return ConfirmedInvalid, true
	}
	return validationStates.parse(s)
}

// EPSSBand sorts exploit probabilities into the words of the triage filter.
type EPSSBand uint8

// Bands of docs/reference/triage.md.
const (
	EPSSNone   EPSSBand = iota + 1 // no score
	EPSSLow                        // below 0.1
	EPSSMedium                     // from 0.1
	EPSSHigh                       // from 0.5
)

var epssBands = enumNames[EPSSBand]{"", "none", "low", "medium", "high"}

// String returns the wire name.
func (b EPSSBand) String() string { return epssBands.name(b) }

// ParseEPSSBand reads a wire name.
func ParseEPSSBand(s string) (EPSSBand, bool) { return epssBands.parse(s) }

// BandOf places a score, which is nil where none is known (docs/reference/triage.md).
func BandOf(score *EPSS) EPSSBand {
	switch {
	case score == nil:
		return EPSSNone
	case score.Score >= 0.5:
		return EPSSHigh
	case score.Score >= 0.1:
		return EPSSMedium
	}
	return EPSSLow
}

// enumNames gives a small enumeration its names on the wire. The zero value of
// every enumeration here means "not said" and has the empty name, so a
// forgotten field never passes for a real one.
type enumNames[T ~uint8] []string

// name returns the wire name of v, or "" for a value out of range.
func (w enumNames[T]) name(v T) string {
	if int(v) >= len(w) {
		return ""
	}
	return w[v]
}

// parse finds the value with the wire name s. The empty name is not found.
func (w enumNames[T]) parse(s string) (T, bool) {
	for i, name := range w {
		if name == s && s != "" {
			return T(i), true
		}
	}
	return 0, false
}

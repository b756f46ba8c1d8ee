package model

// IssueType is the product that a finding belongs to.
type IssueType uint8

// Issue types of the contract. Secrets are triaged like the others but listed separately.
const (
	SAST IssueType = iota + 1
	SCA
	Secrets
)

var issueTypes = enumNames[IssueType]{"", "sast", "sca", "secrets"}

// String returns the wire name: sast, sca or secrets.
func (t IssueType) String() string { return issueTypes.name(t) }

// ParseIssueType parses a wire name.
func ParseIssueType(s string) (IssueType, bool) { return issueTypes.parse(s) }

// Severity is the potential harm of a finding (docs/reference/findings.md).
type Severity uint8

// Severities in ascending order.
const (
	SeverityLow Severity = iota + 1
	SeverityMedium
	SeverityHigh
	SeverityCritical
)

var severities = enumNames[Severity]{"", "low", "medium", "high", "critical"}

// String returns the wire name, lower case.
func (s Severity) String() string { return severities.name(s) }

// ParseSeverity parses a wire name in lower case.
func ParseSeverity(s string) (Severity, bool) { return severities.parse(s) }

// NotRated is the display text for the severity of unrated vulnerabilities, which count as medium.
const NotRated = "not rated"

// SeverityOfScore returns the severity of a CVSS score from 0 to 10 (docs/reference/advisories.md).
// Scores are critical from 9, high from 7, medium from 4, otherwise low.
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

// Confidence is the confidence of a rule's author in its matches.
type Confidence uint8

// Confidences in ascending order.
const (
	ConfidenceLow Confidence = iota + 1
	ConfidenceMedium
	ConfidenceHigh
)

var confidences = enumNames[Confidence]{"", "low", "medium", "high"}

// String returns the wire name, lower case.
func (c Confidence) String() string { return confidences.name(c) }

// ParseConfidence parses a wire name in lower case.
func ParseConfidence(s string) (Confidence, bool) { return confidences.parse(s) }

// Reachability is whether the project's code reaches the vulnerable part of a dependency. The
// contract calls its filter exposures.
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

// ParseReachability parses a wire name.
func ParseReachability(s string) (Reachability, bool) { return reachabilities.parse(s) }

// Transitivity is whether a project requires a dependency directly.
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

// ParseTransitivity parses a wire name.
func ParseTransitivity(s string) (Transitivity, bool) { return transitivities.parse(s) }

// ValidationState is the result of checking a secret with its provider.
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

// String returns the name in triage filters, such as confirmed_valid.
func (v ValidationState) String() string { return validationStates.name(v) }

// ParseValidationState parses a wire name or one of the short forms valid and invalid.
func ParseValidationState(s string) (ValidationState, bool) {
	switch s {
	case "valid":
		return ConfirmedValid, true
	case "invalid":
		return ConfirmedInvalid, true
	}
	return validationStates.parse(s)
}

// EPSSBand is a range of exploit probabilities, as used in triage filters.
type EPSSBand uint8

// Bands of EPSS scores (docs/reference/triage.md).
const (
	EPSSNone   EPSSBand = iota + 1 // no score
	EPSSLow                        // below 0.1
	EPSSMedium                     // from 0.1
	EPSSHigh                       // from 0.5
)

var epssBands = enumNames[EPSSBand]{"", "none", "low", "medium", "high"}

// String returns the wire name.
func (b EPSSBand) String() string { return epssBands.name(b) }

// ParseEPSSBand parses a wire name.
func ParseEPSSBand(s string) (EPSSBand, bool) { return epssBands.parse(s) }

// BandOf returns the band of a score, which may be nil (docs/reference/triage.md).
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

// enumNames contains the wire names of an enumeration by value. The zero value of each enumeration
// means "not set" and has the empty name. So an unset field is not mistaken for a valid one.
type enumNames[T ~uint8] []string

// name returns the wire name of v, or "" if v is out of range.
func (w enumNames[T]) name(v T) string {
	if int(v) >= len(w) {
		return ""
	}
	return w[v]
}

// parse returns the value with the wire name s. It rejects the empty name.
func (w enumNames[T]) parse(s string) (T, bool) {
	for i, name := range w {
		if name == s && s != "" {
			return T(i), true
		}
	}
	return 0, false
}

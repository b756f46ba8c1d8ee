package report

import (
	"encoding/json"
	"slices"
	"time"
)

// The parts of SARIF 2.1.0 that are read. Members of another type than the
// standard's stay empty.

// sarifMessage is a message object, or, as some tools have it, a string.
type sarifMessage struct {
	Text      text  `json:"text"`
	Markdown  text  `json:"markdown"`
	ID        text  `json:"id"`
	Arguments texts `json:"arguments"`
}

// UnmarshalJSON implements json.Unmarshaler.
func (m *sarifMessage) UnmarshalJSON(b []byte) error {
	if b[0] == '"' {
		m.Text = text(unquote(b))
		return nil
	}
	type plain sarifMessage
	loosely(b, (*plain)(m))
	return nil
}

// plain returns the message as text.
func (m sarifMessage) plain() text { return firstOf(m.Text, m.Markdown) }

// sarifArtifact says where a file is: by URI, or by an index of artifacts.
type sarifArtifact struct {
	URI   text    `json:"uri"`
	Base  text    `json:"uriBaseId"`
	Index *number `json:"index"`
	roles texts
}

// isTarget tells whether the tool was told to scan the file.
func (a sarifArtifact) isTarget() bool { return slices.Contains(a.roles, "analysisTarget") }

type sarifArtifactEntry struct {
	Location sarifArtifact `json:"location"`
	Roles    texts         `json:"roles"`
}

type sarifLocation struct {
	Physical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   sarifRegion   `json:"region"`
	} `json:"physicalLocation"`
	Message sarifMessage `json:"message"`
}

type sarifRegion struct {
	StartLine   number `json:"startLine"`
	StartColumn number `json:"startColumn"`
	EndLine     number `json:"endLine"`
	EndColumn   number `json:"endColumn"`
	Snippet     struct {
		Text text `json:"text"`
	} `json:"snippet"`
}

// sarifResult is one of a run's results.
type sarifResult struct {
	item, misfit string

	RuleID        text                `json:"ruleId"`
	RuleIndex     *number             `json:"ruleIndex"`
	Rule          *sarifRuleReference `json:"rule"`
	Kind          text                `json:"kind"`
	Level         text                `json:"level"`
	Message       sarifMessage        `json:"message"`
	Locations     []sarifLocation     `json:"locations"`
	Target        *sarifArtifact      `json:"analysisTarget"`
	Fingerprints  map[string]text     `json:"fingerprints"`
	Partial       map[string]text     `json:"partialFingerprints"`
	Suppressions  []sarifSuppression  `json:"suppressions"`
	BaselineState text                `json:"baselineState"`
	CodeFlows     []sarifCodeFlow     `json:"codeFlows"`
	Properties    json.RawMessage     `json:"properties"`
}

type sarifRuleReference struct {
	ID            text    `json:"id"`
	Index         *number `json:"index"`
	ToolComponent struct {
		Name  text    `json:"name"`
		Index *number `json:"index"`
	} `json:"toolComponent"`
}

type sarifSuppression struct {
	Status text `json:"status"`
}

type sarifCodeFlow struct {
	ThreadFlows []struct {
		Locations []struct {
			Location sarifLocation `json:"location"`
		} `json:"locations"`
	} `json:"threadFlows"`
}

// sarifResultProperties are those that single tools set.
type sarifResultProperties struct {
	Exposure   text `json:"exposure"`         // semgrep, supply chain
	Confidence text `json:"issue_confidence"` // Bandit
	Score      text `json:"security-severity"`
}

// component is the driver or an extension of a tool.
type component struct {
	name, version, semanticVersion text
	rules                          []*sarifRule
	byID                           map[string]*sarifRule
}

// sarifRule is a reportingDescriptor.
type sarifRule struct {
	ID      text         `json:"id"`
	Name    text         `json:"name"`
	Short   sarifMessage `json:"shortDescription"`
	Full    sarifMessage `json:"fullDescription"`
	HelpURI text         `json:"helpUri"`
	Default struct {
		Level text `json:"level"`
	} `json:"defaultConfiguration"`
	Messages      map[string]sarifMessage `json:"messageStrings"`
	Relationships []struct {
		Target struct {
			ID            text `json:"id"`
			ToolComponent struct {
				Name text `json:"name"`
			} `json:"toolComponent"`
		} `json:"target"`
	} `json:"relationships"`
	Properties struct {
		Tags       texts `json:"tags"`
		Precision  text  `json:"precision"`
		Score      text  `json:"security-severity"`
		Product    text  `json:"product"`
		Category   texts `json:"category"`
		Technology texts `json:"technology"`
	} `json:"properties"`

	made *madeRule // once it is needed
}

type sarifInvocation struct {
	Successful    *boolean            `json:"executionSuccessful"`
	Start         sarifTime           `json:"startTimeUtc"`
	End           sarifTime           `json:"endTimeUtc"`
	Folder        sarifArtifact       `json:"workingDirectory"`
	Execution     []sarifNotification `json:"toolExecutionNotifications"`
	Configuration []sarifNotification `json:"toolConfigurationNotifications"`
}

type sarifNotification struct {
	Level     text            `json:"level"`
	Message   sarifMessage    `json:"message"`
	Locations []sarifLocation `json:"locations"`
}

type sarifTime text

// UnmarshalJSON implements json.Unmarshaler.
func (t *sarifTime) UnmarshalJSON(b []byte) error { return (*text)(t).UnmarshalJSON(b) }

// time returns the time in UTC, or zero when it is none.
func (t sarifTime) time() time.Time {
	at, err := time.Parse(time.RFC3339, string(t))
	if err != nil {
		return time.Time{}
	}
	return at.UTC()
}

type sarifRunProperties struct {
	Metrics map[string]json.RawMessage `json:"metrics"` // Bandit: by file
}

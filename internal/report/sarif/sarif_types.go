package sarif

import (
	"cmp"
	"encoding/json"
	"slices"
	"unsafe"

	"github.com/redoubt/redoubt/internal/report/format"
	"github.com/redoubt/redoubt/internal/report/read"
)

// These types contain the parts of SARIF 2.1.0 that are used. Members with a type other than the
// standard's are not set.

// sarifMessage is a message object, or a string in some tools.
type sarifMessage struct {
	Text      read.Text  `json:"text"`
	Markdown  read.Text  `json:"markdown"`
	ID        read.Text  `json:"id"`
	Arguments read.Texts `json:"arguments"`
}

// UnmarshalJSON implements json.Unmarshaler.
func (m *sarifMessage) UnmarshalJSON(b []byte) error {
	if b[0] == '"' {
		m.Text = read.Text(read.Unquote(b))
		return nil
	}
	type plain sarifMessage
	read.Loosely(b, (*plain)(m))
	return nil
}

// plain returns the message as text.
func (m sarifMessage) plain() read.Text { return cmp.Or(m.Text, m.Markdown) }

// sarifArtifact is the location of a file, by URI or by an index in artifacts.
type sarifArtifact struct {
	URI   read.Text    `json:"uri"`
	Base  read.Text    `json:"uriBaseId"`
	Index *read.Number `json:"index"`
	roles read.Texts
}

// isTarget reports whether the tool was requested to scan the file.
func (a sarifArtifact) isTarget() bool { return slices.Contains(a.roles, "analysisTarget") }

type sarifArtifactEntry struct {
	Location sarifArtifact `json:"location"`
	Roles    read.Texts    `json:"roles"`
}

type sarifLocation struct {
	Physical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   sarifRegion   `json:"region"`
	} `json:"physicalLocation"`
	Message sarifMessage `json:"message"`
}

// sarifRelated is a location to which a message may link by its id.
type sarifRelated struct {
	ID *read.Number `json:"id"`
}

type sarifRegion struct {
	StartLine   read.Number `json:"startLine"`
	StartColumn read.Number `json:"startColumn"`
	EndLine     read.Number `json:"endLine"`
	EndColumn   read.Number `json:"endColumn"`
	Snippet     struct {
		Text read.Text `json:"text"`
	} `json:"snippet"`
}

// sarifResult is a result of a run.
type sarifResult struct {
	item, misfit string

	RuleID        read.Text            `json:"ruleId"`
	RuleIndex     *read.Number         `json:"ruleIndex"`
	Rule          *sarifRuleReference  `json:"rule"`
	Kind          read.Text            `json:"kind"`
	Level         read.Text            `json:"level"`
	Message       sarifMessage         `json:"message"`
	Locations     []sarifLocation      `json:"locations"`
	Target        *sarifArtifact       `json:"analysisTarget"`
	Fingerprints  map[string]read.Text `json:"fingerprints"`
	Partial       map[string]read.Text `json:"partialFingerprints"`
	Suppressions  []sarifSuppression   `json:"suppressions"`
	BaselineState read.Text            `json:"baselineState"`
	CodeFlows     []sarifCodeFlow      `json:"codeFlows"`
	Related       []sarifRelated       `json:"relatedLocations"`
	Properties    json.RawMessage      `json:"properties"`
}

// nestedSize returns the memory of a result's lists, in bytes.
func (res *sarifResult) nestedSize() int {
	locations := len(res.Locations)
	for _, flow := range res.CodeFlows {
		locations++
		for _, thread := range flow.ThreadFlows {
			locations += 1 + len(thread.Locations)
		}
	}
	return locations*int(unsafe.Sizeof(sarifLocation{})) + (len(res.Suppressions)+len(res.Related))*32 +
		(len(res.Fingerprints)+len(res.Partial))*64
}

type sarifRuleReference struct {
	ID            read.Text    `json:"id"`
	Index         *read.Number `json:"index"`
	ToolComponent struct {
		Name  read.Text    `json:"name"`
		Index *read.Number `json:"index"`
	} `json:"toolComponent"`
}

type sarifSuppression struct {
	Kind   read.Text `json:"kind"`
	Status read.Text `json:"status"`
}

type sarifCodeFlow struct {
	ThreadFlows []struct {
		Locations []struct {
			Location sarifLocation `json:"location"`
		} `json:"locations"`
	} `json:"threadFlows"`
}

// sarifResultProperties are properties of particular tools.
type sarifResultProperties struct {
	Exposure   read.Text `json:"exposure"`         // semgrep, supply chain
	Confidence read.Text `json:"issue_confidence"` // Bandit
	Score      read.Text `json:"security-severity"`

	Dependency *sarifDependency `json:"dependency"` // our own exports, supply chain
}

// sarifDependency is the vulnerable dependency in our own exports.
type sarifDependency struct {
	Ecosystem     read.Text    `json:"ecosystem"`
	Package       read.Text    `json:"package"`
	Version       read.Text    `json:"version"`
	Transitivity  read.Text    `json:"transitivity"`
	Vulnerability read.Text    `json:"vulnerability"`
	Reachability  read.Text    `json:"reachability"`
	InCode        read.Boolean `json:"inCode"`
	Malicious     read.Boolean `json:"malicious"`
	Unrated       read.Boolean `json:"severityUnrated"`
	Fixes         []struct {
		Package read.Text `json:"package"`
		Version read.Text `json:"version"`
	} `json:"fixes"`
}

// component is the driver or an extension of a tool.
type component struct {
	name, version, semanticVersion read.Text
	rules                          []*sarifRule
	byID                           map[string]*sarifRule
}

// sarifRule is a reportingDescriptor.
type sarifRule struct {
	ID      read.Text    `json:"id"`
	Name    read.Text    `json:"name"`
	Short   sarifMessage `json:"shortDescription"`
	Full    sarifMessage `json:"fullDescription"`
	HelpURI read.Text    `json:"helpUri"`
	Default struct {
		Level read.Text `json:"level"`
	} `json:"defaultConfiguration"`
	Messages      map[string]sarifMessage `json:"messageStrings"`
	Relationships []struct {
		Target struct {
			ID            read.Text `json:"id"`
			ToolComponent struct {
				Name read.Text `json:"name"`
			} `json:"toolComponent"`
		} `json:"target"`
	} `json:"relationships"`
	Properties struct {
		Tags       read.Texts `json:"tags"`
		Precision  read.Text  `json:"precision"`
		Score      read.Text  `json:"security-severity"`
		Product    read.Text  `json:"product"`
		Category   read.Texts `json:"category"`
		Technology read.Texts `json:"technology"`
	} `json:"properties"`

	made *madeRule // set when it is converted
}

type sarifInvocation struct {
	Successful    *read.Boolean       `json:"executionSuccessful"`
	Start         format.Time         `json:"startTimeUtc"`
	End           format.Time         `json:"endTimeUtc"`
	Folder        sarifArtifact       `json:"workingDirectory"`
	Execution     []sarifNotification `json:"toolExecutionNotifications"`
	Configuration []sarifNotification `json:"toolConfigurationNotifications"`
}

type sarifNotification struct {
	Level      read.Text `json:"level"`
	Descriptor struct {
		ID read.Text `json:"id"`
	} `json:"descriptor"`
	Message   sarifMessage    `json:"message"`
	Locations []sarifLocation `json:"locations"`
}

type sarifRunProperties struct {
	Metrics map[string]json.RawMessage `json:"metrics"`   // Bandit: by file
	Image   read.Text                  `json:"imageName"` // Trivy
}

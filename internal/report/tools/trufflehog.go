package tools

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report/format"
	"github.com/redoubt/redoubt/internal/report/read"
)

// truffleHogLine is a line of TruffleHog's output: a finding, or a log message if both were written
// to one file.
type truffleHogLine struct {
	Source struct {
		Data map[string]json.RawMessage `json:"Data"` // by kind of source; one entry
	} `json:"SourceMetadata"`
	Detector    read.Text            `json:"DetectorName"`
	Description read.Text            `json:"DetectorDescription"`
	Verified    read.Boolean         `json:"Verified"`
	Failed      read.Text            `json:"VerificationError"`
	Raw         read.Text            `json:"Raw"`
	RawV2       read.Text            `json:"RawV2"`
	Parts       map[string]read.Text `json:"SecretParts"`
	Level       read.Text            `json:"level"`
	Log         read.Text            `json:"msg"`
}

// ReadTruffleHog reads lines of JSON. The format has no end marker, and a scan without findings is
// empty.
func ReadTruffleHog(in *format.Input, o format.Options) ([]*model.Report, error) {
	n := newNative(in, o, "trufflehog")
	err := n.Lines("findings", func(item string) error { return items(n, n.truffleHog)(item) })
	if err != nil {
		return nil, err
	}
	return n.reports(model.Secrets), nil
}

func (n *native) truffleHog(item string, l *truffleHogLine) {
	if l.Detector == "" && l.Level != "" && l.Log != "" {
		return
	}
	var place struct {
		File   read.Text   `json:"file"`
		Line   read.Number `json:"line"`
		Commit read.Text   `json:"commit"`
	}
	for _, kind := range slices.Sorted(maps.Keys(l.Source.Data)) {
		read.Loosely(l.Source.Data[kind], &place)
	}
	found := leak{
		item: item, path: string(place.File), raw: string(cmp.Or(l.Raw, l.RawV2)), others: []string{string(l.RawV2)},
		commit: place.Commit, location: model.Location{Line: int(place.Line)},
		rule: model.Rule{Name: l.Detector.Name(), Message: l.Description.Block()},
	}
	for _, part := range slices.Sorted(maps.Keys(l.Parts)) {
		found.others = append(found.others, string(l.Parts[part]))
	}
	switch {
	case bool(l.Verified):
		found.state, found.severity = model.ConfirmedValid, model.SeverityCritical
	case l.Failed != "":
		found.state = model.ValidationError
	}
	n.leaked(found)
}

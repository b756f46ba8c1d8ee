package core

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/model"
)

// The ETag of an object covers only what users may edit. A scan between reading and writing is
// therefore no conflict (docs/reference/requests.md).

// ifMatch is the request header with the ETag that a change is based on.
const ifMatch = "If-Match"

// TagOf returns the ETag of a state, without quotes.
func TagOf(state any) string {
	text, err := json.Marshal(state)
	if err != nil {
		panic("apihttp: ETag of a value that is not JSON: " + err.Error())
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:12]) // hex digits contain no compressedTag
}

// ProjectTag returns the ETag of a project's settings.
func ProjectTag(p model.Project) string {
	return TagOf(struct {
		ID            int64
		Name, Primary string
		Tags          []string
		Visibility    model.Visibility
		Diff, Full    bool
	}{p.ID, p.Name, p.PrimaryBranch, append([]string{}, p.Tags...), p.Visibility, p.ManagedScan.Diff, p.ManagedScan.Full})
}

// FindingTag returns the ETag of the annotations of a lineage.
func FindingTag(lineageID int64, a model.Annotations) string {
	return TagOf(struct {
		Lineage     int64
		Annotations model.Annotations
	}{lineageID, a})
}

// tagList matches the value of If-Match, and oneTag one tag in it. The suffix of a compressed
// response is not part of the match.
var (
	tagList = regexp.MustCompile(`^\s*(?:\*|(?:W/)?"[!#-~]*"(?:\s*,\s*(?:W/)?"[!#-~]*")*)\s*$`)
	oneTag  = regexp.MustCompile(`"([!#-~]*?)(?:` + compressedTag + `(?:-[a-z]+)?)?"`)
)

// compressedTag is the suffix of the ETag of a compressed response, before the encoding's name.
const compressedTag = "-z"

// Unchanged returns a conflict if the request has an If-Match header without tag. Requests without
// the header are accepted.
func (c *Call) Unchanged(what, tag string) error {
	sent := strings.Join(c.R.Header.Values(ifMatch), ",")
	switch {
	case sent == "":
		return nil
	case !tagList.MatchString(sent):
		return model.Invalid(
			"header."+ifMatch, `expected the ETag of an earlier response with its quotes, a list of them, or *`,
		)
	case strings.TrimSpace(sent) == "*":
		return nil
	}
	for _, one := range oneTag.FindAllStringSubmatch(sent, -1) {
		if sent, _, _ := strings.Cut(one[1], "."); sent == tag {
			return nil
		}
	}
	return NewProblem(api.CodeConflict, fmt.Sprintf("The %s was changed since it was read. Nothing was written. "+
		"Read it again, check your change, and send it with the new ETag.", what), nil)
}

// Tagged returns a handler whose responses have an ETag. Changes support If-Match.
func Tagged(h Handler) Handler {
	return func(a huma.API, o *operation) {
		if o.described.Method != http.MethodGet && o.described.Method != http.MethodPost {
			o.described.Parameters = append(o.described.Parameters, &huma.Param{
				Name: ifMatch, In: "header", Example: `"5f1d0c2e9a7b44c08d3e6f21"`,
				Description: "ETag on which the change is based. If the current one differs, the response is a " +
					"conflict and nothing is written.",
				Schema: &huma.Schema{Type: huma.TypeString},
			})
		}
		if o.tagged = true; o.described.Method == http.MethodGet {
			o.mayBeKnown()
		}
		h(a, o)
		o.answers(
			"ETag", "Identifies the editable state, for If-Match, and the whole response, for If-None-Match.",
		)
	}
}

// answers documents a header of the response.
func (o *operation) answers(header, text string) {
	ok := o.described.Responses["200"]
	if ok.Headers == nil {
		ok.Headers = map[string]*huma.Param{}
	}
	ok.Headers[header] = textHeader(text)
}

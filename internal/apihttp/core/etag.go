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

// A tag names a state of what people may set, and of nothing else: a scan that
// comes between reading and writing is no conflict (docs/reference/requests.md).

// ifMatch is the header of the tag that a change is based on.
const ifMatch = "If-Match"

// TagOf is the tag of a state, without its quotes.
func TagOf(state any) string {
	text, err := json.Marshal(state)
	if err != nil {
		panic("apihttp: a tag of what is no JSON: " + err.Error())
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:12]) // letters that end no tag of a compressed answer
}

// ProjectTag names the settings of a project.
func ProjectTag(p model.Project) string {
	return TagOf(struct {
		ID            int64
		Name, Primary string
		Tags          []string
		Visibility    model.Visibility
		Diff, Full    bool
	}{p.ID, p.Name, p.PrimaryBranch, append([]string{}, p.Tags...), p.Visibility, p.ManagedScan.Diff, p.ManagedScan.Full})
}

// FindingTag names the annotations of a finding's lineage.
func FindingTag(lineageID int64, a model.Annotations) string {
	return TagOf(struct {
		Lineage     int64
		Annotations model.Annotations
	}{lineageID, a})
}

// tagList is what If-Match may hold, and oneTag one of it. A compressed answer
// has a tag with an end of its own, which is left out here.
var (
	tagList = regexp.MustCompile(`^\s*(?:\*|(?:W/)?"[!#-~]*"(?:\s*,\s*(?:W/)?"[!#-~]*")*)\s*$`)
	oneTag  = regexp.MustCompile(`"([!#-~]*?)(?:` + compressedTag + `(?:-[a-z]+)?)?"`)
)

// compressedTag ends the tag of a compressed answer, before the encoding's name.
const compressedTag = "-z"

// Unchanged refuses a change that is based on another state than there is: one
// that the request names by If-Match. Without that header all are taken.
func (c *Call) Unchanged(what, tag string) error {
	sent := strings.Join(c.R.Header.Values(ifMatch), ",")
	switch {
	case sent == "":
		return nil
	case !tagList.MatchString(sent):
		return model.Invalid(
			"header."+ifMatch, `expected the ETag of an earlier answer with its quotes, a list of them, or *`,
		)
	case strings.TrimSpace(sent) == "*":
		return nil
	}
	for _, one := range oneTag.FindAllStringSubmatch(sent, -1) {
		if sent, _, _ := strings.Cut(one[1], "."); sent == tag {
			return nil
		}
	}
	return NewProblem(api.CodeConflict, fmt.Sprintf("The %s was changed since it was read, and nothing was written. "+
		"Read it again, see whether your change still fits, and send it with the ETag that it has then.", what), nil)
}

// Tagged is a handler whose answers have a tag; that of a change takes If-Match.
func Tagged(h Handler) Handler {
	return func(a huma.API, o *operation) {
		if o.described.Method != http.MethodGet && o.described.Method != http.MethodPost {
			o.described.Parameters = append(o.described.Parameters, &huma.Param{
				Name: ifMatch, In: "header", Example: `"5f1d0c2e9a7b44c08d3e6f21"`,
				Description: "The ETag that the change is based on: where it has another by now, the answer is a conflict and " +
					"nothing is written.",
				Schema: &huma.Schema{Type: huma.TypeString},
			})
		}
		if o.tagged = true; o.described.Method == http.MethodGet {
			o.mayBeKnown()
		}
		h(a, o)
		o.answers(
			"ETag", "Names the state of what can be changed here, for If-Match, and of the whole answer, for If-None-Match.",
		)
	}
}

// answers describes a header of the answer.
func (o *operation) answers(header, text string) {
	ok := o.described.Responses["200"]
	if ok.Headers == nil {
		ok.Headers = map[string]*huma.Param{}
	}
	ok.Headers[header] = textHeader(text)
}

package sbom

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	packageurl "github.com/package-url/packageurl-go"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/purl"
)

// openVEX is an OpenVEX document of version 0.2.0.
type openVEX struct {
	Context    string             `json:"@context"`
	ID         string             `json:"@id"`
	Author     string             `json:"author"`
	Timestamp  string             `json:"timestamp"`
	Version    int64              `json:"version"`
	Tooling    string             `json:"tooling"`
	Statements []openVEXStatement `json:"statements"`
}

type openVEXStatement struct {
	Vulnerability struct {
		ID   string `json:"@id,omitempty"`
		Name string `json:"name"`
	} `json:"vulnerability"`
	Timestamp     string           `json:"timestamp,omitempty"`
	Products      []openVEXProduct `json:"products"`
	Status        string           `json:"status"`
	StatusNotes   string           `json:"status_notes"`
	Justification string           `json:"justification,omitempty"`
	Impact        string           `json:"impact_statement,omitempty"` // not together with a justification
	Action        string           `json:"action_statement,omitempty"`
}

type openVEXProduct struct {
	ID            string             `json:"@id"`
	Subcomponents []openVEXComponent `json:"subcomponents"`
}

type openVEXComponent struct {
	ID string `json:"@id"`
}

// writeOpenVEX writes the triage decisions on the findings. If there are none, it returns a
// model.InvalidError.
func writeOpenVEX(w io.Writer, r model.SBOMRequest, c Content) (mediaType string, err error) {
	doc := openVEX{
		Context: "https://openvex.dev/ns/v0.2.0", ID: openVEXID(r, c),
		Author:    cmp.Or(singleLine(r.Supplier.Name), orUnnamed(singleLine(c.Deployment))),
		Timestamp: c.Created.UTC().Format(time.RFC3339), Version: max(1, c.Created.Unix()),
		Tooling: strings.TrimSpace("Redoubt " + versionText(c.Tool)),
	}
	for _, p := range slices.SortedFunc(slices.Values(c.Projects), func(a, b Project) int {
		return cmp.Compare(a.Name, b.Name)
	}) {
		doc.Statements = append(doc.Statements, openVEXStatements(p)...)
	}
	if len(doc.Statements) == 0 {
		return "", model.Invalid("body.formatVersion.format", "the findings have no triage decisions, but an "+
			"OpenVEX document requires a statement: triage findings first")
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(doc); err != nil {
		return "", fmt.Errorf("write OpenVEX: %w", err)
	}
	return "application/json", nil
}

// openVEXID returns the id of a document, derived from its subject. A later document has the same
// id and a higher version, its creation time, and so replaces it.
func openVEXID(r model.SBOMRequest, c Content) string {
	parts := []string{"urn:redoubt:vex", url.PathEscape(orUnnamed(singleLine(c.Deployment)))}
	if r.ProjectID != 0 {
		parts = append(parts, url.PathEscape(orUnnamed(singleLine(c.Projects[0].Name))))
	}
	if r.Ref != "" {
		parts = append(parts, url.PathEscape(singleLine(r.Ref)))
	}
	return strings.Join(parts, ":")
}

// openVEXStatements returns one statement for each vulnerability and verdict of a project.
func openVEXStatements(p Project) (list []openVEXStatement) {
	type subject struct{ id, label string }
	found := map[subject]*vulnerability{}
	packages, decided := map[subject]map[string]bool{}, map[subject]time.Time{}
	for _, f := range p.Vulnerabilities {
		verdict, name := verdictOf(f), singleLine(f.Package)
		if verdict.statement.Status == 0 || name == "" {
			continue
		}
		key := subject{orUnnamed(singleLine(f.ID)), verdict.label()}
		if found[key] == nil {
			found[key], packages[key] = &vulnerability{
				id:      key.id,
				verdict: verdict,
				fixes:   map[string][]string{},
			}, map[string]bool{}
			found[key].sourceName, found[key].sourceURL = sourceOf(key.id)
		}
		found[key].add(f)
		packages[key][purl.Make(singleLine(f.Ecosystem), name, singleLine(f.Version))] = true
		if f.DecidedAt.After(decided[key]) {
			decided[key] = f.DecidedAt
		}
	}
	order := func(a, b subject) int { return cmp.Or(cmp.Compare(a.id, b.id), cmp.Compare(a.label, b.label)) }
	for _, key := range slices.SortedFunc(maps.Keys(found), order) {
		s := openVEXStatementOf(found[key])
		product := openVEXProduct{ID: productURL(p)}
		for _, purl := range slices.Sorted(maps.Keys(packages[key])) {
			product.Subcomponents = append(product.Subcomponents, openVEXComponent{purl})
		}
		s.Products = []openVEXProduct{product}
		if at := decided[key]; !at.IsZero() {
			s.Timestamp = at.UTC().Format(time.RFC3339)
		}
		list = append(list, s)
	}
	return list
}

// openVEXStatementOf converts a verdict to an OpenVEX statement. A verdict without a corresponding
// status becomes affected, with an action statement.
func openVEXStatementOf(v *vulnerability) (s openVEXStatement) {
	statement := v.verdict.statement
	s.Vulnerability.ID, s.Vulnerability.Name = v.sourceURL, v.id
	s.Status, s.StatusNotes = statement.Status.String(), ownNote(statement.Own)
	switch statement.Status {
	case model.VEXNotAffected, model.VEXFalsePositive:
		s.Status = model.VEXNotAffected.String()
		if word, _, ok := model.VEXJustification(statement.Justification); ok {
			s.Justification = word
		} else {
			s.Impact = cmp.Or(statement.Detail, unexplained(statement))
		}
	case model.VEXAffected, model.VEXUnclaimed:
		s.Status = model.VEXAffected.String()
		s.Action = cmp.Or(statement.Detail, unexplained(statement))
		if advice := v.recommendation(); statement.Status == model.VEXAffected && advice != "" {
			s.Action += " " + advice
		}
	}
	return s
}

// ownNote returns a triage as text that Redoubt can parse.
func ownNote(t *model.VEXTriage) string {
	note := "Redoubt triage: " + t.State.String()
	if t.Reason != 0 {
		note += ", " + t.Reason.String()
	}
	note += "."
	if t.Comment != "" {
		note += " " + t.Comment
	}
	return note
}

// unexplained returns a default explanation for a triage without a comment.
func unexplained(statement model.VEXStatement) string {
	t := statement.Own
	switch {
	case statement.Justification != "" || statement.Status == model.VEXFixed:
		return ""
	case statement.Status == model.VEXNotAffected:
		return "It is not affected."
	}
	switch t.State {
	case model.TriageFixing:
		return "A fix is in progress."
	case model.TriageReviewing:
		return ""
	case model.TriageReopened:
		return "It will be fixed."
	}
	switch t.Reason {
	case model.AcceptableRisk:
		return "The risk is accepted."
	case model.FalsePositive:
		return "It is a false positive."
	case model.NoTime:
		return "There is no time to fix it now."
	}
	return "It will not be fixed."
}

// productURL returns the package URL of a project. It refers to the repository if package URLs have
// a type for its host.
func productURL(p Project) string {
	kind := packageurl.TypeGeneric
	if u, err := url.Parse(p.URL); err == nil {
		switch u.Hostname() {
		case "github.com":
			kind = packageurl.TypeGithub
		case "bitbucket.org":
			kind = packageurl.TypeBitbucket
		}
	}
	name := orUnnamed(singleLine(p.Name))
	namespace := ""
	if i := strings.LastIndex(name, "/"); i > 0 && i < len(name)-1 {
		namespace, name = name[:i], name[i+1:]
	}
	if address, ok := purl.Canonicalize(packageurl.PackageURL{Type: kind, Namespace: namespace, Name: name}); ok {
		return address
	}
	address, _ := purl.Canonicalize(packageurl.PackageURL{
		Type: packageurl.TypeGeneric,
		Name: orUnnamed(singleLine(p.Name)),
	})
	return address
}

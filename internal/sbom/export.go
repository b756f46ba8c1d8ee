package sbom

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"time"

	"github.com/redoubt/redoubt/internal/model"
)

// Store is the storage that Export reads. It is a consistent snapshot of one deployment.
type Store interface {
	Deployment() model.Deployment
	// Project returns a project by id. An unknown id is model.ErrNotFound.
	Project(ctx context.Context, id int64) (model.Project, error)
	// VisibleProjects returns the projects that the globs allow.
	VisibleProjects(ctx context.Context, globs model.ProjectGlobs) ([]model.Project, error)
	// DependencyGraph returns the current dependencies at a ref and the edges between them.
	DependencyGraph(ctx context.Context, projectID int64, ref string) ([]model.Dependency, []model.DependencyEdge, error)
	// InventoryCommit returns the commit of the newest inventory of a ref, or "".
	InventoryCommit(ctx context.Context, projectID int64, ref string) (string, error)
	// SupplyChainFindings passes the unresolved supply-chain findings of a ref to take, including
	// ignored ones, each with its rule and lineage.
	SupplyChainFindings(
		ctx context.Context, projectID int64, ref string, take func(model.IndexedFinding, model.Rule, model.Lineage) error,
	) error
}

// Options are the metadata of an export.
type Options struct {
	Created time.Time
	Tool    string // version of Redoubt; may be empty
	Serial  string // urn:uuid:…; generated if empty
}

// Export collects the content of a request and writes it. A project that is missing or not visible
// to the requester is model.ErrNotFound, and a request that Check rejects is a model.InvalidError.
// Other errors are those of the store.
func Export(ctx context.Context, s Store, r model.SBOMRequest, o Options) (result []byte, mediaType string, err error) {
	if err := Check(r); err != nil {
		return nil, "", err
	}
	projects, err := requested(ctx, s, r)
	if err != nil {
		return nil, "", err
	}
	c := Content{Deployment: deploymentName(s.Deployment()), Created: o.Created, Tool: o.Tool, Serial: o.Serial}
	if c.Serial == "" {
		c.Serial = newSerial()
	}
	for _, p := range projects {
		collected, err := collect(ctx, s, p, r.Ref)
		if err != nil {
			return nil, "", fmt.Errorf("collect project %d: %w", p.ID, err)
		}
		c.Projects = append(c.Projects, collected)
	}
	var buf bytes.Buffer
	mediaType, err = Write(&buf, r, c)
	return buf.Bytes(), mediaType, err
}

func deploymentName(d model.Deployment) string {
	if d.Name != "" {
		return d.Name
	}
	return d.Slug
}

// requested returns the projects of an export that are visible to the requester.
func requested(ctx context.Context, s Store, r model.SBOMRequest) ([]model.Project, error) {
	if r.ProjectID == 0 {
		return s.VisibleProjects(ctx, r.Visible)
	}
	p, err := s.Project(ctx, r.ProjectID)
	if err == nil && !r.Visible.Allows(p.Name) {
		err = fmt.Errorf("project %d: %w", r.ProjectID, model.ErrNotFound)
	}
	return []model.Project{p}, err
}

// collect reads a project at a ref, or at its primary branch if ref is empty.
func collect(ctx context.Context, s Store, p model.Project, ref string) (out Project, err error) {
	if ref == "" {
		ref = p.Primary()
	}
	ref = model.FullRef(ref)
	out = Project{Name: p.Name, URL: p.URL, Ref: ref}
	if out.Commit, err = s.InventoryCommit(ctx, p.ID, ref); err != nil {
		return out, err
	}
	if out.Dependencies, out.Edges, err = s.DependencyGraph(ctx, p.ID, ref); err != nil {
		return out, err
	}
	return out, s.SupplyChainFindings(ctx, p.ID, ref, func(
		f model.IndexedFinding, rule model.Rule, l model.Lineage,
	) error {
		v, err := vulnerabilityOf(f, rule, l)
		out.Vulnerabilities = append(out.Vulnerabilities, v)
		return err
	})
}

// vulnerabilityOf converts a finding to a Vulnerability.
func vulnerabilityOf(f model.IndexedFinding, rule model.Rule, l model.Lineage) (Vulnerability, error) {
	v := Vulnerability{
		ID: f.RuleName, Triage: model.VEXTriage{State: l.Triage.State, Reason: l.Triage.Reason, Comment: l.Triage.Comment},
		DecidedAt: l.Triage.At, Severity: f.Severity, Reachability: f.Reachability,
		Malicious: f.Malicious, EPSS: l.Annotations.EPSS,
		CWEs: rule.CWE, Description: rule.Message, References: rule.References,
		Package: f.Package, Transitivity: f.Transitivity,
	}
	if (v.Reachability == 0 || v.Reachability == model.ReachabilityUnknown) && l.Annotations.Reachability != 0 {
		v.Reachability = l.Annotations.Reachability
	}
	if rule.URL != "" {
		v.References = append([]string{rule.URL}, rule.References...)
	}
	body := model.Body{SCABody: &model.SCABody{}}
	if err := json.Unmarshal([]byte("{"+string(f.Body)+"}"), &body); err != nil {
		return v, fmt.Errorf("body of finding %d: %w", f.ID, err)
	}
	if m := body.RuleMessage; m != nil && *m != "" {
		v.Description = *m
	}
	if id := body.VulnerabilityIdentifier; id != nil && *id != "" {
		v.ID = *id
	}
	if body.Unrated {
		v.Severity = 0
	}
	found := body.FoundDependency
	v.Ecosystem, v.Version, v.Fixes = found.Ecosystem, found.Version, body.FixRecommendations
	if found.Package != "" {
		v.Package = found.Package
	}
	if body.Usage == nil { // otherwise the path is that of the code that uses the package
		v.Lockfile = f.Path
	}
	return v, nil
}

// newSerial returns a random UUID (RFC 9562, version 4).
func newSerial() string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

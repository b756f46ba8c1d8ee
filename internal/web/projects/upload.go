package projects

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/auth"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/web/ui"
)

// uploadPage is the upload form with its input.
type uploadPage struct {
	Input  api.ImportQuery
	Fault  string   // why the upload was rejected
	Faults []string // the individual errors, if there are several
	Known  []string // projects
}

// knownProjects is the maximum number of projects that the form suggests.
const knownProjects = 200

// upload shows the form. The address may contain initial values.
func upload(req *ui.Request) error {
	q := req.HTTP.URL.Query()
	return showUpload(req, http.StatusOK, &uploadPage{Input: api.ImportQuery{
		Project: q.Get("project"), Ref: cmp.Or(q.Get("ref"), "main"), Full: q.Has("full"),
		Diff: q.Has("diff"), Whole: q.Has("whole"), Commit: q.Get("commit"), Category: q.Get("category"),
	}})
}

func showUpload(req *ui.Request, status int, p *uploadPage) error {
	err := req.View(func(ctx context.Context, tx *store.Tx) error {
		list, err := tx.Projects(ctx, store.ProjectQuery{Limit: knownProjects})
		for _, one := range list {
			p.Known = append(p.Known, one.Name)
		}
		return err
	})
	if err != nil {
		return err
	}
	return req.Show(status, ui.Page{
		Template: "upload",
		Title:    "Upload a report",
		Section:  "scans",
		Data:     p,
		Part:     "uploadfault",
	})
}

// submitUpload streams the form to the importer and redirects to the result.
func submitUpload(req *ui.Request) error {
	if req.Uploads == nil {
		return model.ErrUnavailable
	}
	caller, err := asCaller(req)
	if err != nil {
		return err
	}
	input := &api.ImportQuery{}
	key, err := req.Uploads().ImportUpload(req.Writer, req.HTTP, caller, input)
	var refused *api.Problem
	switch {
	case err == nil:
		req.Redirect(req.To(ui.UploadPath + "/" + key))
		return nil
	case errors.Is(err, auth.ErrUnauthenticated): // the session ended during the upload
		req.Lead(ui.SignInAddress(req.To(ui.UploadPath + "?" + typed(input).Encode())))
		return nil
	case !errors.As(err, &refused) || refused.Status >= http.StatusInternalServerError:
		return err
	}
	p := &uploadPage{Input: *input, Fault: refused.Detail}
	for _, f := range ui.AsFilledIn(fieldErrors(refused)) {
		p.Faults = append(p.Faults, f.Location+": "+f.Message)
	}
	return showUpload(req, refused.Status, p)
}

func fieldErrors(p *api.Problem) (out []model.FieldError) {
	for _, f := range p.Errors {
		out = append(out, model.FieldError{Location: f.Location, Message: f.Message})
	}
	return out
}

// typed returns the input of the form as a query.
func typed(input *api.ImportQuery) url.Values {
	q := url.Values{}
	for name, value := range map[string]string{
		"project":  input.Project,
		"ref":      input.Ref,
		"commit":   input.Commit,
		"category": input.Category,
	} {
		if value != "" {
			q.Set(name, value)
		}
	}
	for name, set := range map[string]bool{"full": input.Full, "diff": input.Diff, "whole": input.Whole} {
		if set {
			q.Set(name, "true")
		}
	}
	return q
}

// asCaller returns the viewer as a caller of the Web API.
func asCaller(req *ui.Request) (auth.Caller, error) {
	var me model.Member
	err := req.View(func(ctx context.Context, tx *store.Tx) (err error) {
		me, err = tx.Member(ctx, req.Viewer.User)
		return err
	})
	still := func(ctx context.Context) error {
		now, err := req.Viewers.Viewer(req.HTTP.WithContext(ctx))
		if err == nil && now.User == req.Viewer.User && now.May(model.RoleTriager) {
			return nil
		}
		return errors.Join(auth.ErrUnauthenticated, err)
	}
	return auth.ByPerson(req.Viewer.Deployment, me, req.Viewer.Actor(), still), err
}

// uploadedPage is the result of an upload.
type uploadedPage struct {
	api.ImportResponse
	Rows    []uploadedRow
	Project string // of the first import, for further uploads
	Ref     string
}

// uploadedRow is the result of one source's reports.
type uploadedRow struct {
	api.Import
	Notice       string         // why nothing changed; empty if findings may have changed
	ByAdvisories int            // changed findings of the advisories
	Lists        []uploadedList // lists of the project's findings on the branch
}

// uploadedList counts the findings of a product in a report, with the address of all findings on
// the branch.
type uploadedList struct {
	Product ui.Product
	Count   int64
	Address string
}

// outcomeNotices contains the reasons why an import changed nothing.
var outcomeNotices = map[string]string{
	"repeat":     "Identical upload: recorded as a scan, no findings changed.",
	"late":       "A scan that started later was processed first: this one is recorded, no findings changed.",
	"superseded": "The branch has newer commits: this scan is recorded, no findings changed.",
}

// uploaded shows the result of an upload.
func uploaded(req *ui.Request) error {
	if req.Uploads == nil {
		return model.ErrNotFound
	}
	p := &uploadedPage{}
	var advised []int
	err := req.View(func(ctx context.Context, tx *store.Tx) (err error) {
		p.ImportResponse, advised, err = req.Uploads().UploadResult(ctx, tx, req.HTTP.PathValue("key"))
		return err
	})
	if err != nil {
		return err
	}
	for n, i := range p.Imports {
		row := uploadedRow{Import: i, Notice: outcomeNotices[i.Outcome]}
		if n < len(advised) {
			row.ByAdvisories = advised[n]
		}
		counts := map[model.IssueType]int64{
			model.SAST:    i.Counts.Code,
			model.SCA:     i.Counts.SupplyChain,
			model.Secrets: i.Counts.Secrets,
		}
		for _, one := range ui.Products {
			if n := counts[one.Type]; n > 0 {
				row.Lists = append(row.Lists, uploadedList{
					one, n, req.To(one.Path + "?" + url.Values{"repos": {i.Project}, "ref": {i.Ref}}.Encode()),
				})
			}
		}
		p.Rows = append(p.Rows, row)
		p.Project, p.Ref = i.Project, ui.Branch(i.Ref)
	}
	return req.Show(http.StatusOK, ui.Page{Template: "uploaded", Title: "Uploaded", Section: "scans", Data: p})
}

package projects

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/redoubt/redoubt/internal/auth"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/sbom"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/web/ui"
)

// sbomJob is the kind of job that creates SBOMs. The Web API uses the same kind.
const sbomJob = "sbom"

// sbomPage is the form for SBOMs, with the recently created ones.
type sbomPage struct {
	Jobs     []sbomRow
	Projects []model.Project
	Formats  []sbomFormat
	Running  bool
	Project  int64 // preselected
	Self     string
}

// sbomFormat is an available format, such as CycloneDX 1.6 in XML.
type sbomFormat struct {
	Value, Label string
	Default      bool
}

type sbomRow struct {
	model.Job
	Of      string // project, or everything
	Format  string
	Address string // download link; empty until the job is done
}

// formatNames contains the display names of the formats.
var formatNames = map[model.SBOMFormat]string{
	model.CycloneDX: "CycloneDX",
	model.SPDX:      "SPDX",
	model.OpenVEX:   "OpenVEX",
}

// sbomFormats lists the formats of package sbom, newest version first.
func sbomFormats() []sbomFormat {
	var out []sbomFormat
	for _, f := range sbom.Formats() {
		name := formatNames[f.Name]
		for _, version := range slices.Backward(f.Versions) {
			out = append(out, sbomFormat{
				string(f.Name) + " " + version + " json", name + " " + version + " JSON", version == "1.6",
			})
			if f.XML {
				out = append(out, sbomFormat{string(f.Name) + " " + version + " xml", name + " " + version + " XML", false})
			}
		}
	}
	return out
}

func listSBOMs(req *ui.Request) error {
	p := &sbomPage{Formats: sbomFormats(), Self: req.To("/sbom")}
	p.Project, _ = strconv.ParseInt(req.HTTP.URL.Query().Get("project"), 10, 64) // 0 selects all projects
	err := req.View(func(ctx context.Context, tx *store.Tx) (err error) {
		if p.Projects, err = tx.Projects(ctx, store.ProjectQuery{}); err != nil {
			return err
		}
		jobs, err := tx.Jobs(ctx, sbomJob, 30)
		for _, j := range jobs {
			p.Jobs = append(p.Jobs, newSBOMRow(req, j, p.Projects))
			p.Running = p.Running || j.State == model.JobQueued || j.State == model.JobRunning
		}
		return err
	})
	if err != nil {
		return err
	}
	return req.Show(http.StatusOK, ui.Page{
		Template: "sbom",
		Title:    "Bills of materials",
		Section:  "sbom",
		Data:     p,
		Part:     "sbomlist",
	})
}

func newSBOMRow(req *ui.Request, j model.Job, projects []model.Project) sbomRow {
	row := sbomRow{Job: j, Of: "All projects"}
	var r model.SBOMRequest
	if json.Unmarshal(j.Input, &r) == nil {
		row.Format = formatNames[r.Format] + " " + r.Version
		if r.XML {
			row.Format += " XML"
		}
		if r.ProjectID != 0 {
			row.Of = "Deleted project"
		}
		for _, p := range projects {
			if p.ID == r.ProjectID {
				row.Of = p.Name
			}
		}
		if r.Ref != "" {
			row.Of += " on " + ui.Branch(r.Ref)
		}
	}
	if j.State == model.JobDone {
		row.Address = req.To("/sbom/" + j.Token + "/download")
	}
	return row
}

// requestSBOM queues a job that creates an SBOM.
func requestSBOM(req *ui.Request, form url.Values) error {
	request, err := sbomRequest(form.Get("format"), form.Get("project"), form.Get("ref"))
	if err != nil {
		return err
	}
	input, err := json.Marshal(request)
	if err != nil {
		return err
	}
	err = req.Update(func(ctx context.Context, tx *store.Tx) error {
		if request.ProjectID != 0 {
			if _, err := tx.Project(ctx, request.ProjectID); err != nil {
				return err
			}
		}
		_, err := tx.RequestJob(ctx, model.Job{Kind: sbomJob, Token: auth.NewTaskToken(), Input: input})
		return err
	})
	return ui.RedirectAfter(req, err, "/sbom")
}

// sbomRequest parses the form.
func sbomRequest(format, project, ref string) (model.SBOMRequest, error) {
	r := model.SBOMRequest{ComponentType: "application"}
	parts := strings.Split(format, " ")
	if len(parts) != 3 {
		return r, model.Invalid("format", "must be one of the choices")
	}
	r.Format, r.Version, r.XML = model.SBOMFormat(parts[0]), parts[1], parts[2] == "xml"
	if project != "" {
		id, err := strconv.ParseInt(project, 10, 64)
		if err != nil || id <= 0 {
			return r, model.Invalid("project", "must be one of the choices")
		}
		r.ProjectID = id
	}
	if ref = strings.TrimSpace(ref); ref != "" {
		r.Ref = model.FullRef(ref)
	}
	return r, sbom.Check(r)
}

// downloadSBOM writes a finished SBOM.
func downloadSBOM(req *ui.Request) error {
	var job model.Job
	err := req.View(func(ctx context.Context, tx *store.Tx) (err error) {
		job, err = tx.Job(ctx, req.HTTP.PathValue("token"))
		return err
	})
	if err != nil {
		return err
	}
	if job.Kind != sbomJob || job.State != model.JobDone {
		return model.ErrNotFound
	}
	extension := ".json"
	if strings.Contains(job.MediaType, "xml") {
		extension = ".xml"
	}
	h := req.Writer.Header()
	h.Set("Content-Type", job.MediaType)
	h.Set("Content-Disposition", `attachment; filename="sbom-`+ui.Decimal(job.ID)+extension+`"`)
	h.Set("Content-Length", strconv.Itoa(len(job.Result)))
	if req.HTTP.Method != http.MethodHead {
		_, _ = req.Writer.Write(job.Result) // an error means that the client disconnected
	}
	return nil
}

package report

import (
	"errors"
	"io"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report/bom"
	"github.com/redoubt/redoubt/internal/report/format"
	"github.com/redoubt/redoubt/internal/report/lockfile"
	"github.com/redoubt/redoubt/internal/report/sarif"
	"github.com/redoubt/redoubt/internal/report/semgrep"
	"github.com/redoubt/redoubt/internal/report/tools"
	"github.com/redoubt/redoubt/internal/report/vex"
)

// Read reads an upload of one file without further knowledge of its rules. See Reading for other
// uploads.
func Read(r io.Reader, o format.Options) ([]*model.Report, error) {
	var one Reading
	if err := one.Add(r, o); err != nil {
		return nil, err
	}
	return one.Reports(nil), nil
}

// readFile reads a file and returns a report for each run, including secrets.
func readFile(r io.Reader, o format.Options) ([]*model.Report, error) {
	o.Limits = o.Limits.OrDefault()
	if o.Budget == nil {
		o.Budget = &format.Budget{}
	}
	in, err := format.Open(r, o)
	if err != nil {
		return nil, format.NewFileError(o, -1, err)
	}
	if o.Format == "" && !lockfile.Is(o.Name) && included(o.Secrets, o) {
		o.Format = format.Lockfile
	}
	if o.Format == "" {
		head, err := in.Head()
		if err != nil {
			return nil, format.NewFileError(o, 0, err)
		}
		if o.Format, err = Detect(o.Name, head); err != nil {
			return nil, format.NewFileError(o, -1, err)
		}
	}
	read, ok := readers[o.Format]
	if !ok {
		return nil, format.NewFileError(o, -1, errors.New("unknown format; "+howToName()))
	}
	reports, err := read(in, o)
	if err == nil {
		err = in.Budget.Err
	}
	if err == nil {
		err = allRefused(reports)
	}
	if err != nil {
		return nil, format.NewFileError(o, -1, err)
	}
	return reports, nil
}

// allRefused returns an error if all items of a source were refused. VEX documents are excluded:
// ingest.Apply checks them after all files are read.
func allRefused(reports []*model.Report) error {
	hasItems := map[stream]bool{} // sources with at least one item
	for _, rep := range reports {
		hasItems[streamOf(rep)] = hasItems[streamOf(rep)] || rep.AllRefused() == ""
	}
	for _, rep := range reports {
		if !hasItems[streamOf(rep)] && !rep.OnlyVEX() {
			return errors.New(rep.AllRefused())
		}
	}
	return nil
}

// reader reads a file of one format to its end.
type reader func(in *format.Input, o format.Options) ([]*model.Report, error)

var readers = map[format.Format]reader{
	format.SemgrepJSON:     semgrep.ReadSemgrep,
	format.SARIF:           sarif.ReadSARIF,
	format.GitleaksJSON:    tools.ReadGitleaks,
	format.GitLabJSON:      tools.ReadGitLab,
	format.TrivyJSON:       tools.ReadTrivy,
	format.GrypeJSON:       tools.ReadGrype,
	format.GovulncheckJSON: tools.ReadGovulncheck,
	format.TruffleHogJSON:  tools.ReadTruffleHog,
	format.OSVScannerJSON:  tools.ReadOSVScanner,
	format.PipAuditJSON:    tools.ReadPipAudit,
	format.NPMAuditJSON:    tools.ReadNPMAudit,
	format.BrakemanJSON:    tools.ReadBrakeman,
	format.CycloneDXJSON:   bom.ReadCycloneDXJSON,
	format.CycloneDXXML:    bom.ReadCycloneDXXML,
	format.OpenVEXJSON:     vex.ReadOpenVEX,
	format.SPDXJSON:        bom.ReadSPDX,
	format.Lockfile:        bom.ReadLockfile,
}

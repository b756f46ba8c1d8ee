package report

import "github.com/redoubt/redoubt"

// File is what one file of an upload holds.
type File struct {
	Name    string // as Options.Name; may be empty
	Reports []*redoubt.Report
}

// Join makes one upload of several files: a report for each source in them,
// whatever files it came in, since a request is one scan by each source
// (decisions §9). What was refused is told with the name of its file where
// there is more than one.
func Join(files []File) []*redoubt.Report {
	var all []*redoubt.Report
	for _, f := range files {
		for _, r := range f.Reports {
			for i := range r.Refused {
				if len(files) > 1 && f.Name != "" {
					r.Refused[i].Item = f.Name + ": " + r.Refused[i].Item
				}
			}
			all = append(all, r)
		}
	}
	return mergeSources(all)
}

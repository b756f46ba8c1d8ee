package api

// PolicySettings are the settings of a policy: its projects, branches and excluded paths.
type PolicySettings struct {
	Projects []string `json:"projects" doc:"Globs of project names; empty: all projects."`
	Tags     []string `json:"tags" doc:"Tags, of which a project must have one; empty: all projects."`
	Branches []string `json:"branches" doc:"Globs of branch names, as release/*, or of full ref names, as refs/pull/**; empty: all refs. On other refs the policy fails no build and adds no comments. Scans are the same on all refs."`
	Excludes []string `json:"excludes" doc:"Paths excluded by scanners for the product, as in .gitignore."`
	BlockAll bool     `json:"block_all" doc:"Blocking rules and conditions also fail builds on findings that are already on the primary branch."`
}

// PolicySettingsResponse contains the settings of a policy.
type PolicySettingsResponse struct {
	Policy   Policy         `json:"policy" doc:"The policy."`
	Settings PolicySettings `json:"settings" doc:"Its settings."`
}

// PolicyChangeResponse contains a policy that was created, changed or deleted.
type PolicyChangeResponse struct {
	Policy   Policy         `json:"policy" doc:"The policy after the change, or before its deletion."`
	Settings PolicySettings `json:"settings" doc:"The settings after the change, or before the deletion."`
	Removed  int64          `json:"removed" doc:"Findings that became removed because their paths are now excluded."`
}

// CreatePolicyRequest creates a policy. Unknown members are rejected, so that a misspelled one does
// not widen the policy.
type CreatePolicyRequest struct {
	_        struct{} `additionalProperties:"false"`
	Name     string   `json:"name" minLength:"1" maxLength:"200" doc:"Name of the policy." example:"Card payments"`
	Slug     string   `json:"slug,omitempty" maxLength:"63" doc:"Short name of the policy; default: derived from the name." example:"card-payments"`
	Product  string   `json:"product" enum:"sast,sca,secrets" doc:"Product of the rules." example:"sast"`
	Projects []string `json:"projects,omitempty" doc:"Globs of project names: * matches anything but /, ** anything; empty: all projects."`
	Tags     []string `json:"tags,omitempty" doc:"Tags, of which a project must have one; empty: all projects."`
	Branches []string `json:"branches,omitempty" doc:"Globs of branch names, as release/*, or of full ref names, as refs/pull/**; empty: all refs. On other refs the policy fails no build and adds no comments. Scans are the same on all refs."`
	Excludes []string `json:"excludes,omitempty" doc:"Paths excluded by scanners for the product, as in .gitignore."`
	BlockAll bool     `json:"block_all,omitempty" doc:"Blocking rules and conditions also fail builds on findings that are already on the primary branch."`
}

// SetPolicySettingsRequest replaces the settings of a policy. Absent lists are cleared. Unknown
// members are rejected.
type SetPolicySettingsRequest struct {
	_        struct{} `additionalProperties:"false"`
	PolicyID string   `json:"policyId,omitempty" doc:"The policy, as in the path."`
	Name     string   `json:"name" minLength:"1" maxLength:"200" doc:"Name of the policy. Its slug is unchanged." example:"Card payments"`
	Projects []string `json:"projects,omitempty" doc:"Globs of project names: * matches anything but /, ** anything; empty: all projects."`
	Tags     []string `json:"tags,omitempty" doc:"Tags, of which a project must have one; empty: all projects."`
	Branches []string `json:"branches,omitempty" doc:"Globs of branch names, as release/*, or of full ref names, as refs/pull/**; empty: all refs. On other refs the policy fails no build and adds no comments. Scans are the same on all refs."`
	Excludes []string `json:"excludes,omitempty" doc:"Paths excluded by scanners for the product, as in .gitignore."`
	BlockAll bool     `json:"block_all,omitempty" doc:"Blocking rules and conditions also fail builds on findings that are already on the primary branch."`
}

// PreviewPolicyRequest describes a change to preview: new settings of a policy, or its deletion.
type PreviewPolicyRequest struct {
	_        struct{} `additionalProperties:"false"`
	PolicyID string   `json:"policyId,omitempty" doc:"The policy, as in the path."`
	Deleted  bool     `json:"deleted,omitempty" doc:"Preview the deletion; the other members are ignored."`
	Name     string   `json:"name,omitempty" maxLength:"200" doc:"Name of the policy; default: the current name." example:"Card payments"`
	Projects []string `json:"projects,omitempty" doc:"Globs of project names; empty: all projects."`
	Tags     []string `json:"tags,omitempty" doc:"Tags, of which a project must have one; empty: all projects."`
	Branches []string `json:"branches,omitempty" doc:"Globs of branch names, as release/*, or of full ref names, as refs/pull/**; empty: all refs. On other refs the policy fails no build and adds no comments. Scans are the same on all refs."`
	Excludes []string `json:"excludes,omitempty" doc:"Paths that scanners would exclude."`
	BlockAll bool     `json:"block_all,omitempty" doc:"Blocking rules and conditions would also fail builds on findings that are already on the primary branch."`
	Project  string   `json:"project,omitempty" maxLength:"255" doc:"Also return stored findings of this project that match the policy's conditions." example:"acme/shop"`
	Mode     string   `json:"mode,omitempty" enum:"monitor,comment,block" doc:"Mode of all conditions for these matches; default: their own."`
}

// PolicyImpact is the effect of a change to a policy. It is computed from the open findings on
// branches that were scanned in the last 30 days.
type PolicyImpact struct {
	Policy         Policy          `json:"policy" doc:"The current policy."`
	Projects       int64           `json:"projects" doc:"Projects of the policy after the change."`
	ProjectsNow    int64           `json:"projects_now" doc:"Current projects of the policy."`
	Branches       int64           `json:"branches" doc:"Evaluated branches."`
	Open           int64           `json:"open" doc:"Open findings of its product on these branches, without those on excluded paths."`
	Blocking       int64           `json:"blocking" doc:"Open findings that would fail a build."`
	BlockingNow    int64           `json:"blocking_now" doc:"Findings that currently fail a build."`
	Builds         int64           `json:"builds" doc:"Branches whose build would fail."`
	BuildsNow      int64           `json:"builds_now" doc:"Branches whose build currently fails."`
	Removed        int64           `json:"removed" doc:"Open findings that would become removed because their paths are excluded."`
	UnservedRules  []string        `json:"unserved_rules" doc:"Rules that some project would no longer receive. Its next full scan removes their findings."`
	Changed        []ChangedBranch `json:"changed" doc:"The first 20 branches whose builds would change."`
	Partial        bool            `json:"partial" doc:"Whether some branches, or some findings of large ones, were not evaluated."`
	LargerBranches int64           `json:"larger_branches" doc:"Branches with more findings than were read."`

	UnmatchedBranches []string `json:"unmatched_branches" doc:"Branch globs that match no scanned branch of the projects; empty if nothing was scanned."`
	ScannedRefs       []string `json:"scanned_refs" doc:"If some globs match nothing: the first 10 scanned refs, most recently scanned first."`

	Matches        []PolicyMatch `json:"matches" doc:"First 1,000 findings of the named project that match conditions, on all its branches."`
	MatchCount     int64         `json:"match_count" doc:"Number of all matches."`
	MatchesFailing int64         `json:"matches_failing" doc:"Number of matches that would fail a build."`
}

// PolicyMatch is a stored finding that a condition matches.
type PolicyMatch struct {
	Ref   string `json:"ref" doc:"Branch, as a full ref name." example:"refs/heads/main"`
	Mode  string `json:"mode" enum:"monitor,comment,block" doc:"Effect on a build." example:"block"`
	Known bool   `json:"known" doc:"Whether it is also on the primary branch."`
	Fails bool   `json:"fails" doc:"Whether it would fail a build."`
	Text  string `json:"text" doc:"The finding and the condition, as a sentence."`
}

// ChangedBranch is a branch on which a change of a policy alters the number of blocking findings.
type ChangedBranch struct {
	Project     string `json:"project" doc:"Name of the project." example:"acme/shop"`
	Ref         string `json:"ref" doc:"Branch, as a full ref name." example:"refs/heads/main"`
	BlockingNow int64  `json:"blocking_now" doc:"Findings that currently fail its build."`
	Blocking    int64  `json:"blocking" doc:"Findings that would fail it."`
}

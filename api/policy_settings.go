package api

// PolicySettings are the settings of a policy: its projects, branches and excluded paths.
type PolicySettings struct {
	Projects []string `json:"projects" doc:"Globs of project names; none is every project."`
	Tags     []string `json:"tags" doc:"Tags of projects, one of which is enough; none is every project."`
	Branches []string `json:"branches" doc:"Globs of the names of branches, as release/*, or of refs in full, as refs/pull/**: on others the policy fails no build and comments nothing. None is every ref. What is scanned is the same everywhere."`
	Excludes []string `json:"excludes" doc:"Paths that scanners leave out for the product, as in .gitignore."`
	BlockAll bool     `json:"block_all" doc:"Blocking rules and conditions fail a build on what the primary branch has too."`
}

// PolicySettingsResponse contains the settings of a policy.
type PolicySettingsResponse struct {
	Policy   Policy         `json:"policy" doc:"The policy."`
	Settings PolicySettings `json:"settings" doc:"Its settings."`
}

// PolicyChangeResponse contains a policy that was created, changed or deleted.
type PolicyChangeResponse struct {
	Policy   Policy         `json:"policy" doc:"The policy, as it is or was."`
	Settings PolicySettings `json:"settings" doc:"Its settings, as they are or were."`
	Removed  int64          `json:"removed" doc:"Findings that became removed with it: they are on paths that it leaves out."`
}

// CreatePolicyRequest creates a policy. Unknown members are rejected, so that a misspelled one does
// not widen the policy.
type CreatePolicyRequest struct {
	_        struct{} `additionalProperties:"false"`
	Name     string   `json:"name" minLength:"1" maxLength:"200" doc:"Name of the policy." example:"Card payments"`
	Slug     string   `json:"slug,omitempty" maxLength:"63" doc:"Short name of the policy; made of the name where it is left out." example:"card-payments"`
	Product  string   `json:"product" enum:"sast,sca,secrets" doc:"What its rules look for." example:"sast"`
	Projects []string `json:"projects,omitempty" doc:"Globs of project names: * is anything but /, ** anything; none is every project."`
	Tags     []string `json:"tags,omitempty" doc:"Tags of projects, one of which is enough; none is every project."`
	Branches []string `json:"branches,omitempty" doc:"Globs of the names of branches, as release/*, or of refs in full, as refs/pull/**: on others the policy fails no build and comments nothing. None is every ref. What is scanned is the same everywhere."`
	Excludes []string `json:"excludes,omitempty" doc:"Paths that scanners leave out for the product, as in .gitignore."`
	BlockAll bool     `json:"block_all,omitempty" doc:"Blocking rules and conditions fail a build on what the primary branch has too."`
}

// SetPolicySettingsRequest replaces the settings of a policy. Absent lists are cleared. Unknown
// members are rejected.
type SetPolicySettingsRequest struct {
	_        struct{} `additionalProperties:"false"`
	PolicyID string   `json:"policyId,omitempty" doc:"The policy, as in the path."`
	Name     string   `json:"name" minLength:"1" maxLength:"200" doc:"Name of the policy; its slug stays." example:"Card payments"`
	Projects []string `json:"projects,omitempty" doc:"Globs of project names: * is anything but /, ** anything; none is every project."`
	Tags     []string `json:"tags,omitempty" doc:"Tags of projects, one of which is enough; none is every project."`
	Branches []string `json:"branches,omitempty" doc:"Globs of the names of branches, as release/*, or of refs in full, as refs/pull/**: on others the policy fails no build and comments nothing. None is every ref. What is scanned is the same everywhere."`
	Excludes []string `json:"excludes,omitempty" doc:"Paths that scanners leave out for the product, as in .gitignore."`
	BlockAll bool     `json:"block_all,omitempty" doc:"Blocking rules and conditions fail a build on what the primary branch has too."`
}

// PreviewPolicyRequest describes a change to preview: new settings of a policy, or its deletion.
type PreviewPolicyRequest struct {
	_        struct{} `additionalProperties:"false"`
	PolicyID string   `json:"policyId,omitempty" doc:"The policy, as in the path."`
	Deleted  bool     `json:"deleted,omitempty" doc:"What deleting it would do; the other members are not looked at."`
	Name     string   `json:"name,omitempty" maxLength:"200" doc:"Name of the policy; as it is where it is left out." example:"Card payments"`
	Projects []string `json:"projects,omitempty" doc:"Globs of project names; none is every project."`
	Tags     []string `json:"tags,omitempty" doc:"Tags of projects, one of which is enough; none is every project."`
	Branches []string `json:"branches,omitempty" doc:"Globs of the names of branches, as release/*, or of refs in full, as refs/pull/**: on others the policy fails no build and comments nothing. None is every ref. What is scanned is the same everywhere."`
	Excludes []string `json:"excludes,omitempty" doc:"Paths that scanners would leave out."`
	BlockAll bool     `json:"block_all,omitempty" doc:"Blocking rules and conditions would fail a build on what the primary branch has too."`
	Project  string   `json:"project,omitempty" maxLength:"255" doc:"Also return stored findings of this project that the policy's conditions match." example:"acme/shop"`
	Mode     string   `json:"mode,omitempty" enum:"monitor,comment,block" doc:"Mode of all conditions for these matches; by default each has its own."`
}

// PolicyImpact is the effect of a change to a policy. It is computed from the open findings on
// branches that were scanned in the last 30 days.
type PolicyImpact struct {
	Policy         Policy          `json:"policy" doc:"The policy, as it is."`
	Projects       int64           `json:"projects" doc:"Projects that it would be for."`
	ProjectsNow    int64           `json:"projects_now" doc:"Projects that it is for."`
	Branches       int64           `json:"branches" doc:"Branches that were judged."`
	Open           int64           `json:"open" doc:"Open findings of its product on them, but for what would be left out."`
	Blocking       int64           `json:"blocking" doc:"Of them, that would fail a build."`
	BlockingNow    int64           `json:"blocking_now" doc:"Findings that fail a build now."`
	Builds         int64           `json:"builds" doc:"Branches whose build would fail."`
	BuildsNow      int64           `json:"builds_now" doc:"Branches whose build fails now."`
	Removed        int64           `json:"removed" doc:"Open findings that would become removed: they are on the paths left out."`
	UnservedRules  []string        `json:"unserved_rules" doc:"Rules that some project would no longer be given; the next full scan there removes their findings."`
	Changed        []ChangedBranch `json:"changed" doc:"The first 20 branches whose builds would change."`
	Partial        bool            `json:"partial" doc:"There are more branches, or larger ones, than were judged."`
	LargerBranches int64           `json:"larger_branches" doc:"Branches that have more findings than were read."`

	UnmatchedBranches []string `json:"unmatched_branches" doc:"Branches that it would be for and that fit no branch of its projects that was ever scanned. Empty where nothing was scanned."`
	ScannedRefs       []string `json:"scanned_refs" doc:"Where some branches fit none: the first 10 refs that there are, those that were scanned last first."`

	Matches        []PolicyMatch `json:"matches" doc:"The first 1,000 findings of the named project that conditions match, on all its branches."`
	MatchCount     int64         `json:"match_count" doc:"All matches."`
	MatchesFailing int64         `json:"matches_failing" doc:"Matches that would fail a build."`
}

// PolicyMatch is a stored finding that a condition matches.
type PolicyMatch struct {
	Ref   string `json:"ref" doc:"The branch, as a full ref." example:"refs/heads/main"`
	Mode  string `json:"mode" enum:"monitor,comment,block" doc:"What it does to a build." example:"block"`
	Known bool   `json:"known" doc:"Whether the primary branch has it too."`
	Fails bool   `json:"fails" doc:"Whether it would fail a build."`
	Text  string `json:"text" doc:"The finding and the condition, as a sentence."`
}

// ChangedBranch is a branch on which a change of a policy alters the number of blocking findings.
type ChangedBranch struct {
	Project     string `json:"project" doc:"Name of the project." example:"acme/shop"`
	Ref         string `json:"ref" doc:"The branch, as a full ref." example:"refs/heads/main"`
	BlockingNow int64  `json:"blocking_now" doc:"Findings that fail its build now."`
	Blocking    int64  `json:"blocking" doc:"Findings that would fail it."`
}

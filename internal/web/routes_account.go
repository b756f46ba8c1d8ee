package web

// settingsNav is what accountRoutes adds to the navigation.
var settingsNav = navGroup{"Settings", []navItem{
	{Label: "Tokens", Path: "/settings/tokens", Section: "tokens", least: viewer},
	{Label: "Connections", Path: connectionsPath, Section: "connections", least: admin},
	{Label: "Runners", Path: runnersPath, Section: "runners", least: admin},
	{Label: "Notifications", Path: notificationsPath, Section: "notifications", least: admin},
	{Label: "Users", Path: "/settings/users", Section: "users", least: admin},
	{Label: "Audit log", Path: "/settings/audit", Section: "audit", least: admin},
	{Label: "About", Path: "/settings/about", Section: "about", least: viewer},
}}

// accountRoutes are the rows about people: how they come in, and what they set.
func accountRoutes() []route {
	const settings = org + "/settings"
	return []route{
		{row(get, "/login", anyone, reads), (*request).login},
		{row(post, "/login", anyone, writes), formed((*request).enter)},
		{row(get, againPath, anyone, reads), (*request).again},
		{row(post, againPath, anyone, writes), (*request).proveByPassword},
		{row(get, codePath, anyone, reads), (*request).askCode},
		{row(post, codePath, anyone, writes), formed((*request).enterCode)},
		{row(post, passkeyPath, anyone, writes), formed((*request).enterByPasskey)},
		{row(get, "/login/oidc", anyone, reads), (*request).goToProvider},
		{row(get, "/login/oidc/callback", anyone, writes), (*request).comeFromProvider},
		{row(post, "/logout", anyone, writes), (*request).leave},
		{row(get, "/setup/{code}", anyone, reads), (*request).setup},
		{row(post, "/setup/{code}", anyone, writes), formed((*request).useLink)},
		{row(get, "/sign-in/{code}", anyone, reads), (*request).signInLink},
		{row(post, "/sign-in/{code}", anyone, writes), (*request).enterByLink},

		{row(get, "/join/{code}", anyone, reads), (*request).join},
		{row(post, "/join/{code}", anyone, writes), formed((*request).useJoin)},
		{row(get, choosePath, anyone, reads), (*request).choose},
		{row(post, choosePath, anyone, reads), (*request).chooseOne},
		{row(get, invitationsPath, anyone, reads), (*request).invitations},
		{row(post, invitationsPath+"/{id}/accept", anyone, writes), (*request).acceptInvitation},
		{row(post, invitationsPath+"/{id}/decline", anyone, writes), (*request).declineInvitation},

		{row(get, secondFactorPath, anyone, reads), (*request).secondFactor},
		{row(get, appPath, anyone, reads), proven((*request).startApp)},
		{row(post, appPath, anyone, writes), proven((*request).setUpApp)},
		{row(get, recoveryCodesPath, anyone, reads), (*request).recoveryCodes},
		{row(post, recoveryCodesPath, anyone, writes), proven((*request).newRecoveryCodes)},
		{row(get, passkeysPath, anyone, reads), proven((*request).startPasskey)},
		{row(post, passkeysPath, anyone, writes), proven(formed((*request).addPasskey))},
		{row(post, passkeysPath+"/{id}/remove", anyone, writes), proven((*request).removePasskey)},
		{row(post, secondFactorPath+"/remove", anyone, writes), (*request).removeSecondFactor},

		{row(get, org+"/account", viewer, reads), (*request).account},
		{row(post, org+"/account/password", viewer, writes), formed((*request).changePassword)},
		{row(post, org+"/account/mail", viewer, writes), formed((*request).changeMail)},
		{row(post, org+"/account/sessions/{id}/end", viewer, writes), (*request).endSession},
		{row(post, org+"/account/sign-out", viewer, writes), (*request).signOutEverywhere},

		{row(get, settings+"/tokens", viewer, reads), (*request).tokens},
		{row(post, settings+"/tokens", viewer, writes), proven(formed((*request).createToken))},
		{row(post, settings+"/tokens/{id}/revoke", viewer, writes), (*request).revokeToken},
		{row(get, settings+"/users", admin, reads), (*request).users},
		{row(get, settings+"/users/invited", admin, reads), (*request).invited},
		{row(post, settings+"/users", admin, writes), proven(formed((*request).createUser))},
		{row(post, settings+"/invitations/{id}/withdraw", admin, writes), (*request).withdrawInvitation},
		{row(post, settings+"/users/{name}/role", admin, writes), proven(formed((*request).setUserRole))},
		{row(post, settings+"/users/{name}/link", admin, writes), proven((*request).resetUser)},
		{row(post, settings+"/users/{name}/disable", admin, writes), proven((*request).disableUser)},
		{row(post, settings+"/users/{name}/enable", admin, writes), proven((*request).enableUser)},
		{row(post, settings+"/users/{name}/reset-2fa", admin, writes), proven((*request).resetSecondFactor)},
		{row(post, settings+"/second-factor", admin, writes), proven(formed((*request).requireSecondFactor))},
		{row(get, settings+"/audit", admin, reads), (*request).audit},
		{row(get, settings+"/about", viewer, reads), (*request).about},
	}
}

// managedRoutes are the rows about code hosts, and about who makes managed scans.
func managedRoutes() []route {
	return []route{
		{row(get, org+connectionsPath, admin, reads), (*request).connections},
		{row(post, org+connectionsPath, admin, writes), proven(formed((*request).addConnection))},
		{row(get, org+connectionsPath+"/{id}", admin, reads), (*request).connection},
		{row(post, org+connectionsPath+"/{id}", admin, writes), proven(formed((*request).changeConnection))},
		{row(post, org+connectionsPath+"/{id}/test", admin, writes), (*request).testConnection},
		{row(post, org+connectionsPath+"/{id}/repositories", admin, writes), formed((*request).chooseRepositories)},
		{row(post, org+connectionsPath+"/{id}/hooks", admin, writes), formed((*request).hookConnection)},
		{row(post, org+connectionsPath+"/{id}/remove", admin, writes), proven((*request).removeConnection)},
		{row(get, org+runnersPath, admin, reads), (*request).runners},
		{row(post, org+runnersPath, admin, writes), proven((*request).makeRunnerToken)},
		{row(post, org+runnersPath+"/{id}/revoke", admin, writes), (*request).revokeRunner},
	}
}

// notificationRoutes are the rows about who is told of what.
func notificationRoutes() []route {
	const rules, one = org + notificationsPath, org + notificationsPath + "/{id}"
	return []route{
		{row(get, rules, admin, reads), (*request).notifications},
		{row(get, rules+"/new", admin, reads), (*request).newNotification},
		{row(post, rules, admin, writes), proven(formed((*request).addNotification))},
		{row(get, one, admin, reads), (*request).notification},
		{row(post, one, admin, writes), proven(formed((*request).changeNotification))},
		{row(post, one+"/pause", admin, writes), formed((*request).pauseNotification)},
		{row(post, one+"/test", admin, writes), (*request).testNotification},
		{row(post, one+"/rotate", admin, writes), proven((*request).rotateNotification)},
		{row(post, one+"/delete", admin, writes), proven((*request).deleteNotification)},
		{row(post, one+"/notifications/{notification}/resend", admin, writes), (*request).resendNotification},
	}
}

// letInRoutes are the rows about programs that a person lets in.
func letInRoutes() []route {
	return []route{
		{row(get, org+approvePath, triager, reads), (*request).askForToken},
		{row(post, org+approvePath, triager, writes), proven(formed((*request).decideToken))},
		{row(get, org+authorizePath, viewer, reads), proven((*request).askToAuthorize)},
		{row(post, org+authorizePath, viewer, writes), proven(formed((*request).authorize))},
		{row(get, devicePath, anyone, reads), (*request).goToDevice},
		{row(get, org+devicePath, viewer, reads), proven((*request).askForToken)},
		{row(post, org+devicePath, viewer, writes), proven(formed((*request).decideToken))},
	}
}

// startRoutes are the rows about the first start, and about uploads.
func startRoutes() []route {
	const start = org + startPath
	return []route{
		{row(get, start, viewer, reads), (*request).start},
		{row(get, start+"/steps", viewer, reads), (*request).startSteps},
		{row(post, start+"/token", triager, writes), proven(formed((*request).createStartToken))},
		{row(get, start+"/block", admin, reads), (*request).askFirstBlock},
		{row(post, start+"/block", admin, writes), proven(formed((*request).firstBlock))},
		{row(post, start+"/block-nothing", admin, writes), (*request).blockNothing},
		{row(post, start+"/leave", admin, writes), (*request).leaveStart},
		{row(get, org+uploadPath, triager, reads), (*request).upload},
		{row(post, org+uploadPath, triager, writes), (*request).takeUpload},
		{row(get, org+uploadPath+"/{key}", triager, reads), (*request).uploaded},
	}
}

package messages

// For is a request that R grants. Grants is never called: it names the reply of a request, so
// that a program that asks for one gets the other. The tree answers RunCommand and FollowOutput
// by the fact that came first; a host answers a run with the record in it.
type For[R any] interface {
	Refusable
	Grants(R)
}

// Grants implements For.
func (RunCommand) Grants(JobFound)            {}
func (StopCommand) Grants(CommandStopped)     {}
func (PromoteCommand) Grants(CommandPromoted) {}
func (SignalCommand) Grants(Acknowledged)     {}
func (WriteInput) Grants(InputWritten)        {}
func (CloseInput) Grants(Acknowledged)        {}
func (CheckInput) Grants(InputChecked)        {}
func (ResizeTerminal) Grants(Acknowledged)    {}
func (ChangeDeadline) Grants(Acknowledged)    {}
func (PauseOutput) Grants(Acknowledged)       {}
func (ClaimTerminal) Grants(TerminalClaimed)  {}
func (ReleaseTerminal) Grants(Acknowledged)   {}
func (ReadOutput) Grants(OutputPage)          {}
func (ReadScreen) Grants(ScreenText)          {}
func (ListJobs) Grants(JobList)               {}
func (FindJob) Grants(JobFound)               {}
func (RemoveJob) Grants(JobFound)             {}
func (AnnounceTask) Grants(Acknowledged)      {}
func (UpdateTask) Grants(Acknowledged)        {}
func (ReportFault) Grants(Acknowledged)       {}
func (WaitJobs) Grants(WaitEnded)             {}
func (Subscribe) Grants(Subscribed)           {}
func (Unsubscribe) Grants(Unsubscribed)       {}
func (OpenSession) Grants(SessionOpened)      {}
func (CloseSession) Grants(SessionClosed)     {}
func (ListSessions) Grants(SessionList)       {}
func (OpenScope) Grants(ScopeOpened)          {}
func (CloseScope) Grants(ScopeClosed)         {}
func (ReleaseScope) Grants(ScopeReleased)     {}
func (ListScopes) Grants(ScopeList)           {}
func (HandOver) Grants(Acknowledged)          {}
func (ShutdownNode) Grants(ShutdownDone)      {}

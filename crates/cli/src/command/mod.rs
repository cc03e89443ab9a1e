//! One file per command. A command opens the store in the role it needs, asks
//! the library, and hands what came of it to `render`.

mod adopt;
mod answer;
mod apply;
mod audit;
mod audit_verify;
mod backup;
mod calibrate;
mod check;
mod delete;
mod diff;
mod doctor;
mod each;
mod export;
mod follow;
mod gc;
mod guard;
mod guard_eval;
mod init;
mod mcp;
mod migrate;
#[cfg(feature = "local-model")]
mod model;
mod plan;
mod replay;
mod restore;
mod resume;
mod run;
mod runs;
mod settle;
mod show;
mod signal;
mod undo;
mod watch;
mod work;

use crate::args::{Args, AuditCommand, Command};
use crate::error::CliError;
use crate::exit::Exit;
use crate::home::Home;
use crate::home_args::HomeCommand;
use crate::render::Screen;

/// What every command gets.
pub(crate) struct Desk<'a> {
    pub(crate) home: Home,
    pub(crate) screen: &'a Screen,
}

/// Does what the command line asks.
pub(crate) async fn perform(args: Args, screen: &Screen) -> Result<Exit, CliError> {
    let desk = Desk { home: Home::find(args.home)?, screen };
    match args.command {
        Command::Run(args) => run::run(&desk, &args).await,
        Command::Resume(args) => resume::resume(&desk, args).await,
        Command::Runs(args) => runs::runs(&desk, &args).await,
        Command::Show(args) => show::show(&desk, &args).await,
        Command::Watch(args) => watch::watch(&desk, &args).await,
        Command::Pause(args) => signal::pause(&desk, &args).await,
        Command::Cancel(args) => signal::cancel(&desk, &args).await,
        Command::Approve(args) => answer::approve(&desk, &args).await,
        Command::Deny(args) => answer::deny(&desk, &args).await,
        Command::Revise(args) => answer::revise(&desk, &args).await,
        Command::Calibrate(args) => calibrate::calibrate(&desk, &args).await,
        Command::Settle(args) => settle::settle(&desk, &args).await,
        Command::Undo(args) => undo::undo(&desk, &args).await,
        Command::Diff(args) => diff::diff(&desk, &args).await,
        Command::Apply(args) => apply::apply(&desk, &args).await,
        Command::Replay(args) => replay::replay(&desk, &args).await,
        Command::Audit(AuditCommand::Verify(args)) => audit_verify::verify(&desk, &args).await,
        Command::Export(args) => export::export(&desk, &args).await,
        Command::Home(command) => keep(&desk, command).await,
        Command::Guard(args) => guard::guard(screen, *args),
        Command::Check(args) => check::check(&desk, &args),
        Command::Plan(args) => plan::plan(&desk, &args),
        Command::Mcp(command) => mcp::mcp(&desk, &command).await,
        #[cfg(feature = "local-model")]
        Command::Model(command) => model::model(&desk, command).await,
        #[cfg(not(feature = "local-model"))]
        Command::Model(_) => Err(crate::local::refused()),
        Command::Doctor(_) => doctor::doctor(&desk).await,
        Command::Init(args) => init::init(&desk, &args),
    }
}

/// Does what is asked about the home.
async fn keep(desk: &Desk<'_>, command: HomeCommand) -> Result<Exit, CliError> {
    match command {
        HomeCommand::Adopt(args) => adopt::adopt(desk.screen, &args).await,
        HomeCommand::Gc(args) => gc::gc(desk, &args).await,
        HomeCommand::Delete(args) => delete::delete(desk, &args).await,
        HomeCommand::Backup(args) => backup::backup(desk, &args).await,
        HomeCommand::Restore(args) => restore::restore(desk.screen, &args).await,
        HomeCommand::Migrate(args) => migrate::migrate(desk, &args),
    }
}

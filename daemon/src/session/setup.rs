//! What sessions work with: shared by all of a daemon, by those of a project, and for one turn.

use super::api::{ApiError, ApiErrorKind, Client, ProjectInfo};
use super::beside::Summariser;
use super::editors::Editors;
use super::ground::Ground;
use super::lasting::Lasting;
use super::load::store_error;
use super::memories::Memories;
use super::transcripts::Transcripts;
use super::{attached, calibrations, plan};
use crate::config::{Config, Folders, Overrides, OwnTexts, Permissions, TextFiles};
use crate::file_io::pre_image::PreImages;
use crate::process::sandbox::probe::Probe;
use crate::process::shell::is_bash;
use crate::process::{Helper, background::Background, key_command};
use crate::provider::endpoint::{Endpoint, Secret};
use crate::provider::{self, Http, KeyAt};
use crate::store::{MEMORIES, ProjectRecord, Stores};
use crate::tool::registry::Registry;
use crate::tool::{TestsEnv, ToolEnv};
use crate::workspace::instructions;
use crate::workspace::rules::{Sources, Texts, skills};
use crate::workspace::{ClientFacts, Workspace};
use plimsoll_core::compaction;
use plimsoll_core::id::{ProjectKey, SessionId};
use plimsoll_core::model::calibration::Calibration;
use plimsoll_core::model::catalog::ModelProfile;
use plimsoll_core::path;
use plimsoll_core::permission::policy::{Mode, Policy, Sandbox, Shell};
use plimsoll_core::permission::rule::Rule;
use plimsoll_core::prompt::Prompts;
use plimsoll_core::tool::projection::Budget;
use plimsoll_core::turn::machine::Settings;
use plimsoll_core::workspace::{AttachedFile, Attachment, EditorState, Environment, FileVersion, GitBlock, Wanted};
use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, PoisonError};

/// The shell that commands run in.
const BASH: &str = "bash";
/// What `process` takes where there is none.
const SH: &str = "sh";

/// Shared by all sessions of a daemon.
pub(super) struct Shared {
    pub(super) folders: Folders,
    /// The daemon's own environment, for keys that the client does not have.
    pub(super) daemon_env: BTreeMap<String, String>,
    pub(super) registry: Registry,
    /// What commands left running.
    pub(super) background: Arc<Background>,
    pub(super) http: Arc<Http>,
    pub(super) editors: Editors,
    pub(super) running_turns: Arc<AtomicUsize>,
    pub(super) sandbox: Sandboxes,
}

impl Shared {
    /// The configuration as it counts for this client, with the file of a project.
    pub(super) fn config(
        &self,
        client: &Client,
        project_root: Option<&Path>,
        overrides: &Overrides,
    ) -> Result<Config, ApiError> {
        let overrides = overrides.clone().over(&client.options);
        Config::load_for(&self.folders, &client.env, project_root, &overrides).map_err(|error| config_error(&error))
    }

    /// The key for what this client starts: what its user gave it, else where the configuration says that it is. None where
    /// the server is open.
    pub(super) async fn key(&self, client: &Client, endpoint: &Endpoint) -> Result<Option<Secret>, ApiError> {
        if let Some(key) = client.keys.get(&endpoint.name) {
            return Ok(Some(key.clone()));
        }
        let daemon_env = |name: &str| self.daemon_env.get(name).cloned();
        let found = provider::resolve_key(endpoint, &client.env, daemon_env, key_command::standard_output).await;
        found.map_err(|error| key_missing(error.message))
    }

    /// Where that key is. Runs nothing.
    pub(super) fn key_at(&self, client: &Client, endpoint: &Endpoint) -> KeyAt {
        if client.keys.contains_key(&endpoint.name) {
            return KeyAt::Given;
        }
        provider::key_at(endpoint, &client.env, |name| self.daemon_env.get(name).cloned())
    }
}

/// What this machine can hold a command to.
#[derive(Default)]
pub(super) struct Sandboxes {
    /// What starts commands; without it none is held to anything.
    pub(super) helper: Option<Helper>,
    pub(super) probe: Probe,
}

impl Sandboxes {
    /// Found out when it is first asked for.
    async fn found(&self) -> Sandbox {
        match &self.helper {
            Some(helper) => self.probe.found(helper).await.sandbox(),
            None => Sandbox::default(),
        }
    }
}

/// Shared by the sessions of a project.
pub(super) struct Project {
    pub(super) key: ProjectKey,
    /// Its roots, as they are now.
    pub(super) ground: Ground,
    /// The project's folder in the data folder.
    pub(super) folder: PathBuf,
    pub(super) stores: Stores,
    /// Texts in the place of built-in ones.
    pub(super) texts: TextFiles,
    /// What the user decided for it for good.
    pub(super) lasting: Lasting,
    /// What is remembered in it over sessions.
    pub(super) memories: Arc<Memories>,
    pub(super) shared: Arc<Shared>,
}

/// What was chosen for a session.
pub(super) struct Chosen {
    /// Its model as `provider/model`.
    model: Mutex<String>,
    /// Its bundle and its own identity sentence, chosen when it was made.
    pub(super) texts: Prompts,
}

impl Chosen {
    pub(super) fn new(model: String, texts: Prompts) -> Self {
        Self { model: Mutex::new(model), texts }
    }

    /// The session's model as `provider/model`.
    pub(super) fn model(&self) -> String {
        self.model.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The session has another model from now on.
    pub(super) fn set_model(&self, model: &str) {
        model.clone_into(&mut self.model.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// The same with another model, for one look or one prompt.
    pub(super) fn with_model(&self, model: String) -> Self {
        Self::new(model, self.texts.clone())
    }
}

/// What one turn works with.
#[derive(Clone)]
pub(super) struct TurnSetup {
    pub(super) profile: ModelProfile,
    pub(super) endpoint: Endpoint,
    pub(super) key: Option<Secret>,
    pub(super) max_steps: u64,
    pub(super) session_cost: Option<f64>,
    pub(super) permissions: Permissions,
    sandbox: Sandbox,
    shell: Shell,
    /// Rules that the client brought along for this turn.
    pub(super) allow: Vec<Rule>,
    /// Mode and model that the prompt asks for; the session has them from then on.
    pub(super) mode: Option<Mode>,
    pub(super) model: Option<String>,
    /// What is odd in the configuration.
    pub(super) warnings: Vec<String>,
    /// What the client put beside the prompt, until the turn is handed to the machine.
    pub(super) attachments: Vec<Attachment>,
    /// How the model's token counts compare with the estimate.
    pub(super) calibration: Calibration,
    pub(super) prompts: Prompts,
    /// What is wrong with texts that stand in the place of built-in ones.
    pub(super) text_warnings: Vec<String>,
    pub(super) language: Option<String>,
    pub(super) projection: Budget,
    pub(super) compaction: compaction::Settings,
    /// Who writes summaries, when not the session's model.
    pub(super) summariser: Option<Box<Summariser>>,
    /// The session's plan file in text form.
    pub(super) plan_file: String,
    /// The session's folder in text form.
    pub(super) session_dir: String,
    pub(super) tool_env: Arc<ToolEnv>,
    pub(super) workspace: Workspace,
    config_folder: PathBuf,
    sources: Sources,
    pub(super) memories: Arc<Memories>,
    /// The sessions of the project, for this one.
    pub(super) transcripts: Transcripts,
}

impl Project {
    /// The configuration under this client's environment.
    pub(super) fn config(&self, client: &Client, overrides: &Overrides) -> Result<Config, ApiError> {
        self.shared.config(client, self.roots().first().map(PathBuf::as_path), overrides)
    }

    /// What a turn of this session works with, for a prompt of this client.
    pub(super) async fn turn(
        &self,
        session: &SessionId,
        client: &Client,
        chosen: &Chosen,
    ) -> Result<TurnSetup, ApiError> {
        let (roots, workspace) = self.ground.now();
        if let Some(gone) = roots.iter().find(|root| !root.is_dir()) {
            return Err(ApiError::new(
                ApiErrorKind::WorkspaceMissing,
                format!("workspace missing: {}", gone.display()),
            )
            .hint("put the folder back, or, if it was moved, say where it is now with `plimsoll project relocate`"));
        }
        let config = self.config(client, &Overrides::default())?;
        let model = chosen.model();
        let (profile, endpoint) = config.model(Some(&model)).map_err(|error| config_error(&error))?;
        let key = self.shared.key(client, &endpoint).await?;
        let own = self.own_texts(profile.context_window);
        let session_dir = self.folder.join(session.as_str());
        let home = home(client);
        let writable: Vec<PathBuf> = config.permissions.writable(home).iter().map(|path| canonical(path)).collect();
        let calibration = calibrations::known(&self.stores, &profile.id()).await;
        let sources = self.sources(&config, home);
        let mut warnings = config.warnings.clone();
        let (compaction, summariser) = self.compaction(client, &config, &endpoint, &mut warnings).await;
        let store = self.stores.open_project(&self.key).await.map_err(|error| store_error(&error))?;
        Ok(TurnSetup {
            calibration,
            profile,
            endpoint,
            key,
            max_steps: u64::from(config.max_steps_per_turn),
            session_cost: config.session_cost.map(f64::from),
            permissions: config.permissions.clone(),
            sandbox: self.shared.sandbox.found().await,
            shell: if is_bash(client.env.get("PATH").map(String::as_str)) { Shell::Bash } else { Shell::Other },
            allow: Vec::new(),
            mode: None,
            model: None,
            warnings,
            attachments: Vec::new(),
            prompts: Prompts { overrides: own.texts, ..chosen.texts.clone() },
            text_warnings: own.warnings,
            language: config.language.clone(),
            projection: config.budget(&model),
            compaction,
            summariser,
            plan_file: path::escape(self.plan_file(session).as_os_str().as_bytes()),
            session_dir: path::escape(session_dir.as_os_str().as_bytes()),
            tool_env: Arc::new(ToolEnv {
                roots,
                client_env: Arc::clone(&client.env),
                session_dir,
                readable: self.readable(&sources).await.into(),
                plan_file: self.plan_file(session),
                protected: self.protected(),
                pre_images: self.folder.join("pre-images"),
                writable: writable.into(),
                secret_env: config.secret_env().into(),
                tests: Arc::new(tests_env(&config)),
            }),
            workspace,
            config_folder: self.shared.folders.config.clone(),
            sources,
            memories: Arc::clone(&self.memories),
            transcripts: Transcripts::new(store, session.clone()),
        })
    }

    /// Where texts for the model lie, and which count.
    fn sources(&self, config: &Config, home: Option<&Path>) -> Sources {
        Sources {
            managed: self.shared.folders.managed.parent().map(Path::to_path_buf),
            foreign: config.sources.foreign.clone(),
            skills: config.sources.skills(home),
            trusted: self.lasting.known().trusted,
        }
    }

    /// Instruction files, rules and skills, as a turn that this client starts would find them.
    pub(super) async fn told(&self, client: &Client) -> Result<Texts, ApiError> {
        let config = self.config(client, &Overrides::default())?;
        let sources = self.sources(&config, home(client));
        let read = self.workspace().texts(self.shared.folders.config.clone(), sources).await;
        read.map_err(|error| {
            ApiError::new(ApiErrorKind::WorkspaceMissing, error.to_string())
                .hint("put the folder back, or open the project at its new place")
        })
    }

    /// Texts in the place of built-in ones, now, for a model with this window. The project's own count when it is trusted.
    pub(super) fn own_texts(&self, window: u64) -> OwnTexts {
        let roots = self.roots();
        let root = roots.first().filter(|_| self.lasting.known().trusted);
        self.texts.find(&self.shared.folders, root.map(PathBuf::as_path), window)
    }

    /// What decisions of a turn are made with now.
    pub(super) fn policy(&self, turn: &TurnSetup) -> Policy {
        let known = self.lasting.known();
        let mut rules = turn.permissions.rules.clone();
        rules.extend(known.rules);
        rules.extend(turn.allow.iter().cloned());
        let modes = turn.permissions.modes();
        Policy { rules, trusted: known.trusted, sandbox: turn.sandbox, shell: turn.shell, modes }
    }

    /// What clients are told of the project.
    pub(super) fn info(&self, record: ProjectRecord) -> ProjectInfo {
        let trusted = self.lasting.known().trusted;
        ProjectInfo { key: record.key, roots: record.roots, created_at: record.created_at, trusted }
    }

    /// Where the plan of a session is kept.
    pub(super) fn plan_file(&self, session: &SessionId) -> PathBuf {
        self.folder.join("plans").join(format!("{}.md", session.as_str()))
    }

    /// What tools may always read: the project's own folder, what is remembered for the user, and the texts outside the
    /// project that the model is told of.
    async fn readable(&self, sources: &Sources) -> Vec<PathBuf> {
        let folders = &self.shared.folders;
        let (config, sources) = (folders.config.clone(), sources.clone());
        let mut places = vec![self.folder.clone(), folders.data.join(MEMORIES), config.join("rules")];
        places.push(config.join(instructions::NAME));
        places.extend(sources.managed.iter().map(|managed| managed.join(instructions::NAME)));
        let found = tokio::task::spawn_blocking(move || {
            let mut places: Vec<PathBuf> = places.iter().map(|path| canonical(path)).collect();
            places.extend(skills::folders(&config, &sources));
            places
        });
        let mut readable = found.await.unwrap_or_default();
        // What lies in the project is an ordinary file there, unless it lies in a folder that is out of reach otherwise.
        readable.sort();
        readable.dedup();
        let below = |folders: &[PathBuf], path: &Path| folders.iter().any(|folder| path.starts_with(folder));
        let (protected, roots) = (self.protected(), self.roots());
        readable.retain(|path| below(&protected, path) || !below(&roots, path));
        readable
    }

    fn protected(&self) -> Arc<[PathBuf]> {
        let folders = &self.shared.folders;
        [&folders.config, &folders.data, &folders.runtime].into_iter().map(|path| canonical(path)).collect()
    }
}

impl TurnSetup {
    /// What a machine works with for this turn.
    pub(super) fn settings(&self, mode: Mode, policy: Policy) -> Settings {
        Settings {
            model: self.profile.clone(),
            mode,
            policy,
            max_steps: self.max_steps,
            session_cost: self.session_cost,
            prompts: self.prompts.clone(),
            language: self.language.clone(),
            projection: self.projection,
            compaction: self.compaction.clone(),
            plan_file: self.plan_file.clone(),
            session_dir: self.session_dir.clone(),
        }
    }

    /// Takes over with which model the running turn works: what waits behind it must not find another one in its middle.
    pub(super) fn with_model_of(&mut self, running: &Self) {
        self.profile = running.profile.clone();
        self.endpoint = running.endpoint.clone();
        self.key.clone_from(&running.key);
        self.calibration = running.calibration;
        self.compaction = running.compaction.clone();
        self.summariser.clone_from(&running.summariser);
    }

    /// The surroundings now. What cannot be told is said in their place: a turn never fails for it.
    pub(super) async fn collect(&self, editor: EditorState, mut wanted: Wanted) -> Environment {
        let sessions = self.transcripts.attached(&mut wanted.attachments, self.profile.context_window).await;
        let env = Arc::clone(&self.tool_env);
        // A slow file system holds up this turn and nothing else.
        let read = tokio::task::spawn_blocking(move || attached::read(&env, wanted.attachments));
        let facts = ClientFacts {
            env: Arc::clone(&self.tool_env.client_env),
            shell: match self.shell {
                Shell::Bash => BASH.to_owned(),
                Shell::Other => SH.to_owned(),
            },
            config_dir: self.config_folder.clone(),
            sources: self.sources.clone(),
            need_layout: true,
        };
        let memories = self.memories.entries().await;
        let plan_file_exists = plan::exists(&self.tool_env.plan_file);
        let pre_images = PreImages::new(&self.tool_env.pre_images);
        let kept = move |version: FileVersion| pre_images.read(&version.to_string()).ok();
        let (collected, user_edits) =
            tokio::join!(self.workspace.collect(&facts, editor.clone()), self.workspace.edited(wanted.known, kept));
        let mut environment = match collected {
            Ok(environment) => Environment { memories, user_edits, plan_file_exists, ..environment },
            // The root went away between the check and this: the tools will say so too.
            Err(error) => Environment {
                git: vec![GitBlock::Unavailable(error.to_string())],
                memories,
                editor,
                plan_file_exists,
                revision: self.workspace.revision(),
                ..Environment::default()
            },
        };
        environment.sessions = sessions;
        match read.await {
            Ok((attached, images)) => (environment.attached, environment.images) = (attached, images),
            Err(error) => {
                tracing::error!(%error, "reading what was attached broke down");
                let content = Err("an internal fault; the daemon's log has more".to_owned());
                environment.attached = vec![AttachedFile { path: "attachments".to_owned(), content }];
            }
        }
        environment
    }
}

/// The canonical form of a path, itself where it does not exist.
pub(super) fn canonical(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_path_buf())
}

/// How the project's tests are run.
fn tests_env(config: &Config) -> TestsEnv {
    let tests = &config.tests;
    let command = tests.command.as_ref().map(|(command, place)| (command.clone(), place.to_string()));
    TestsEnv { command, timeout: tests.timeout(), writes: tests.writes.clone() }
}

/// The key that the model needs is not there.
fn key_missing(message: String) -> ApiError {
    ApiError::new(ApiErrorKind::AuthRequired, message)
        .hint("set the variable where your editor or shell starts, start that again, then try again; or give the key by auth/set")
}

/// The home folder of a client.
fn home(client: &Client) -> Option<&Path> {
    client.env.get("HOME").map(Path::new).filter(|home| home.is_absolute())
}

pub(super) fn config_error(error: &crate::config::ConfigError) -> ApiError {
    ApiError::new(ApiErrorKind::Config, error.to_string()).hint(error.fix.clone())
}

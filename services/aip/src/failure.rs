//! How a command can end badly, and the exit code of each way.

use std::process::ExitCode;

use aip_types::ProtocolError;

/// Why a command did not do what it was asked to.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The fleet answered no. Exit code 1.
    Refused(Box<ProtocolError>),
    /// It did not work. Exit code 1.
    Failed(anyhow::Error),
    /// The document is not valid, and its findings were told. Exit code 1.
    Invalid,
    /// The command line cannot be understood, or names a file that cannot be read. Exit code 2.
    Usage(String),
    /// Files, folders or settings are not usable; every mistake that is known. Exit code 64.
    Settings(anyhow::Error),
}

impl Failure {
    /// Marks an error as one of configuration.
    pub(crate) fn settings(fault: impl Into<anyhow::Error>) -> Self {
        Self::Settings(fault.into())
    }

    pub(crate) fn exit_code(&self) -> ExitCode {
        ExitCode::from(match self {
            Self::Refused(_) | Self::Failed(_) | Self::Invalid => 1,
            Self::Usage(_) => 2,
            Self::Settings(_) => 64,
        })
    }
}

impl From<anyhow::Error> for Failure {
    fn from(fault: anyhow::Error) -> Self {
        Self::Failed(fault)
    }
}

impl From<ProtocolError> for Failure {
    fn from(refusal: ProtocolError) -> Self {
        Self::Refused(Box::new(refusal))
    }
}

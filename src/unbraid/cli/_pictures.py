"""Pictures of the user's, opened for a run."""

from __future__ import annotations

from pathlib import Path

from unbraid.data.sets.image_folder import Pictures, open_image_folder
from unbraid.runs.run import Run


def pictures_for(run: Run, folder: Path) -> Pictures:
    """The pictures of a folder or .npz, cut and scaled as the run's own were."""
    channels, side, _ = run.config.data["image_shape"]
    data = open_image_folder(side, folder, channels)
    if not isinstance(data, Pictures):  # an .npz with factors, which are not needed
        return Pictures(data.images_at(range(len(data))), data.files, {}, data.source)
    return data
